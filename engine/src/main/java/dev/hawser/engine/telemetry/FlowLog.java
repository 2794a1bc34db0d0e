/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import java.io.IOException;
import java.io.Writer;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

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
      LongSupplier clockMillis) {
    this.file = file;
    this.agent = agent;
    this.interval = interval;
    this.mostBytes = mostBytes;
    this.flows = flows;
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
   * @param clockMillis milliseconds since 1970
   */
  public static FlowLog start(
      Path file,
      String agent,
      Duration interval,
      long mostBytes,
      Supplier<List<FlowReport>> flows,
      LongSupplier clockMillis) {
    FlowLog log = new FlowLog(file, agent, interval, mostBytes, flows, clockMillis);
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
      append(lines, at, agent, report);
    }
    if (lines.isEmpty()) {
      return;
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
        LOG.log(Level.WARNING, "telemetry cannot be written to %s, and is dropped until it can: %s".formatted(file, e));
      }
    }
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
  static void append(StringBuilder out, long atMillis, String agent, FlowReport r) {
    out.append("{\"at\":").append(atMillis);
    text(out, "agent", agent);
    text(out, "peer", r.peer());
    text(out, "rail", r.transport() + ":" + r.rail());
    text(out, "remote_rail", r.remoteRail());
    out.append(",\"path\":").append(r.path());
    out.append(",\"up\":").append(r.up());
    out.append(",\"bytes\":").append(r.bytes());
    out.append(",\"in_flight\":").append(r.bytesInFlight());
    out.append(",\"since_progress_us\":").append(r.sinceProgressNanos() / 1_000);
    window(out, "last_8", r.lastEight());
    window(out, "last_ms", r.lastMillisecond());
    out.append(",\"anomalies\":[");
    String between = "";
    for (Anomaly anomaly : Anomaly.values()) {
      if (r.anomalies().contains(anomaly)) {
        out.append(between).append('"').append(anomaly.name().toLowerCase(Locale.ROOT)).append('"');
        between = ",";
      }
    }
    out.append(']');
    text(out, "fault", r.fault());
    out.append("}\n");
  }

  private static void window(StringBuilder out, String name, FlowWindow w) {
    out.append(",\"")
        .append(name)
        .append("\":{\"completions\":")
        .append(w.completions())
        .append(",\"bytes_per_s\":")
        .append(Math.round(w.bytesPerSecond()))
        .append(",\"mean_us\":")
        .append(w.meanLatencyNanos() / 1_000)
        .append(",\"max_us\":")
        .append(w.maxLatencyNanos() / 1_000)
        .append('}');
  }

  private static void text(StringBuilder out, String name, String value) {
    out.append(",\"").append(name).append("\":\"");
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      switch (c) {
        case '"', '\\' -> out.append('\\').append(c);
        case '\n' -> out.append("\\n");
        default -> {
          if (c < 0x20) {
            out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
          } else {
            out.append(c);
          }
        }
      }
    }
    out.append('"');
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
