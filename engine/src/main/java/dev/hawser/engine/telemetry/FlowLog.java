/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import dev.hawser.engine.spi.NetworkReport;
import dev.hawser.engine.text.Json;
import java.io.IOException;
import java.io.Writer;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Writes what flows to a file, one JSON object a line, at an interval; the file is turned over when it has grown. It looks
 * at the data path from a thread of its own and never waits for it, nor it for this: a disk that is full costs lines, and
 * one warning.
 */
public final class FlowLog implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.telemetry");
  private static final int OLD_FILES = 3;

  private final Path file;
  private final String agent;
  private final Duration interval;
  private final long mostBytes;
  private final Supplier<List<FlowReport>> flows;
  private final Supplier<List<PortReport>> ports;
  private final LongSupplier clockMillis;
  private final CountDownLatch stop = new CountDownLatch(1);
  private final Thread thread;
  private boolean failing;

  private FlowLog(
      Path file,
      String agent,
      Duration interval,
      long mostBytes,
      Supplier<List<FlowReport>> flows,
      Supplier<List<PortReport>> ports,
      LongSupplier clockMillis) {
    this.file = file;
    this.agent = agent;
    this.interval = interval;
    this.mostBytes = mostBytes;
    this.flows = flows;
    this.ports = ports;
    this.clockMillis = clockMillis;
    this.thread = Thread.ofPlatform().daemon().name("hawser-flow-log-" + agent).unstarted(this::run);
  }

  /**
   * Begins to write.
   *
   * @param file appended to; older ones get .1, .2 and .3 behind their names
   * @param agent whose flows they are
   * @param interval between two looks
   * @param mostBytes after which the file is turned over
   * @param flows what flows now; any thread
   * @param ports what is counted at the ports; any thread
   * @param clockMillis milliseconds since 1970
   */
  public static FlowLog start(
      Path file,
      String agent,
      Duration interval,
      long mostBytes,
      Supplier<List<FlowReport>> flows,
      Supplier<List<PortReport>> ports,
      LongSupplier clockMillis) {
    FlowLog log = new FlowLog(file, agent, interval, mostBytes, flows, ports, clockMillis);
    log.thread.start();
    return log;
  }

  private void run() {
    try {
      while (!stop.await(interval.toNanos(), TimeUnit.NANOSECONDS)) {
        writeOnce();
      }
      writeOnce();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void writeOnce() {
    StringBuilder lines = new StringBuilder();
    long at = clockMillis.getAsLong();
    for (FlowReport report : flows.get()) {
      lines.append(line(at, agent, report)).append('\n');
    }
    if (lines.isEmpty()) {
      return; // no links: nothing that the counters would explain
    }
    for (PortReport report : ports.get()) {
      lines.append(line(at, agent, report)).append('\n');
    }
    try {
      turnOver();
      try (Writer writer =
          Files.newBufferedWriter(
              file, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
        writer.append(lines);
      }
      failing = false;
    } catch (IOException e) {
      if (!failing) {
        failing = true;
        LOG.log(
            Level.WARNING,
            "telemetry of %s cannot be written to %s (%s), and is dropped until it can; set HAWSER_TELEMETRY to a file that can be written"
                .formatted(agent, file, why(e)));
      }
    }
  }

  /** For people: Java's own words are the name of a class, or the path once more. */
  private static String why(IOException e) {
    String reason = e instanceof FileSystemException failed ? failed.getReason() : e.getMessage();
    if (reason != null && !reason.isEmpty()) {
      return reason;
    }
    return switch (e) {
      case NoSuchFileException _ -> "its folder is not there";
      case AccessDeniedException _ -> "permission denied";
      default -> e.getClass().getSimpleName();
    };
  }

  private void turnOver() throws IOException {
    if (!Files.exists(file) || Files.size(file) < mostBytes) {
      return;
    }
    for (int i = OLD_FILES; i > 0; i--) {
      Path from = i == 1 ? file : old(i - 1);
      if (Files.exists(from)) {
        Files.move(from, old(i), StandardCopyOption.REPLACE_EXISTING);
      }
    }
  }

  private Path old(int number) {
    return file.resolveSibling(file.getFileName() + "." + number);
  }

  /** One line. */
  static String line(long atMillis, String agent, FlowReport r) {
    return Json.object()
        .number("at", atMillis)
        .text("agent", agent)
        .text("peer", r.peer())
        .text("rail", r.transport() + ":" + r.rail())
        .text("remote_rail", r.remoteRail())
        .number("path", r.path())
        .truth("up", r.up())
        .number("bytes", r.bytes())
        .number("in_flight", r.bytesInFlight())
        .number("since_progress_us", r.sinceProgressNanos() / 1_000)
        .object("network", r.network().map(FlowLog::network).orElseGet(Json::object))
        .object("last_8", window(r.lastEight()))
        .object("last_ms", window(r.lastMillisecond()))
        .texts(
            "anomalies",
            Stream.of(Anomaly.values())
                .filter(r.anomalies()::contains)
                .map(anomaly -> anomaly.name().toLowerCase(Locale.ROOT))
                .toList())
        .text("fault", r.fault())
        .end();
  }

  /** One line of a port. */
  static String line(long atMillis, String agent, PortReport r) {
    Json counters = Json.object();
    new TreeMap<>(r.counters()).forEach(counters::number);
    return Json.object()
        .number("at", atMillis)
        .text("agent", agent)
        .text("rail", r.rail())
        .text("port", r.port())
        .object("counters", counters)
        .end();
  }

  private static Json network(NetworkReport n) {
    return Json.object()
        .number("retransmitted", n.retransmitted())
        .number("reordered", n.reordered())
        .number("round_trip_us", n.roundTripNanos() / 1_000)
        .number("least_round_trip_us", n.leastRoundTripNanos() / 1_000)
        .number("window", n.window());
  }

  private static Json window(FlowWindow w) {
    return Json.object()
        .number("completions", w.completions())
        .number("bytes_per_s", Math.round(w.bytesPerSecond()))
        .number("mean_us", w.meanLatencyNanos() / 1_000)
        .number("max_us", w.maxLatencyNanos() / 1_000);
  }

  /** Writes a last time and ends. */
  @Override
  public void close() {
    stop.countDown();
    boolean interrupted = false;
    try {
      thread.join(Duration.ofSeconds(2));
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
