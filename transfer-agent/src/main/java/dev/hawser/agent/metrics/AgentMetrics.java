/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metrics;

import dev.hawser.agent.Agent;
import dev.hawser.engine.telemetry.Anomaly;
import dev.hawser.engine.telemetry.FlowReport;
import dev.hawser.engine.telemetry.PortReport;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * An agent's telemetry in a meter registry: by peer and rail what was moved and what is wrong, by rail what the operating
 * system counts at its port. Peers come and go while it runs, so it looks at an interval, on a thread of its own; the data
 * path does not know of it.
 *
 * <table>
 * <caption>The meters; each has the tag {@code agent}.</caption>
 * <tr><th>name</th><th>kind, unit</th><th>more tags</th></tr>
 * <tr><td>hawser.bytes.written, hawser.bytes.read</td><td>counter, bytes acknowledged</td><td>peer, rail</td></tr>
 * <tr><td>hawser.bytes.in.flight</td><td>gauge, bytes</td><td>peer, rail</td></tr>
 * <tr><td>hawser.paths</td><td>gauge</td><td>peer, rail, state: up or down</td></tr>
 * <tr><td>hawser.path.anomalies</td><td>gauge, paths that have it</td><td>peer, rail, anomaly</td></tr>
 * <tr><td>hawser.chunk.latency</td><td>timer; one chunk in sixteen</td><td>peer, rail</td></tr>
 * <tr><td>hawser.tcp.retransmitted</td><td>counter, segments</td><td>peer, rail</td></tr>
 * <tr><td>hawser.tcp.round.trip</td><td>time gauge, the longest of its connections</td><td>peer, rail</td></tr>
 * <tr><td>hawser.port</td><td>counter</td><td>rail, port, counter: the driver's name</td></tr>
 * </table>
 *
 * <p>Thread-safe. To be closed before, or after, the agent.
 */
@SuppressWarnings("exports") // Micrometer is there for whoever calls this
public final class AgentMetrics implements MeterBinder, AutoCloseable {
  private static final Duration CLOSING = Duration.ofSeconds(2);

  private final String agent;
  private final Supplier<List<FlowReport>> flows;
  private final Supplier<List<PortReport>> ports;
  private final Duration interval;
  private final CountDownLatch stop = new CountDownLatch(1);
  private final List<Bound> bound = new ArrayList<>();

  /**
   * The meters of an agent, not yet in any registry.
   *
   * @param interval between two looks
   */
  public AgentMetrics(Agent agent, Duration interval) {
    this(agent.name(), agent::flows, agent::ports, interval);
  }

  AgentMetrics(
      String agent, Supplier<List<FlowReport>> flows, Supplier<List<PortReport>> ports, Duration interval) {
    if (interval.isNegative() || interval.isZero()) {
      throw new IllegalArgumentException("an interval of " + interval + "; it must be longer than nothing");
    }
    this.agent = agent;
    this.flows = flows;
    this.ports = ports;
    this.interval = interval;
  }

  /** Adds the meters, and keeps them up to date until this is closed. */
  @Override
  public void bindTo(MeterRegistry registry) {
    Bound meters = new Bound(registry);
    meters.look();
    Thread thread =
        Thread.ofPlatform().daemon().name("hawser-metrics-" + agent).unstarted(() -> keepLooking(meters));
    meters.thread = thread;
    synchronized (bound) {
      bound.add(meters);
    }
    thread.start();
  }

  private void keepLooking(Bound meters) {
    try {
      while (!stop.await(interval.toNanos(), TimeUnit.NANOSECONDS)) {
        meters.look();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Takes the meters out of the registries again. */
  @Override
  public void close() {
    stop.countDown();
    List<Bound> all;
    synchronized (bound) {
      all = List.copyOf(bound);
      bound.clear();
    }
    boolean interrupted = false;
    for (Bound each : all) {
      try {
        each.thread.join(CLOSING);
      } catch (InterruptedException e) {
        interrupted = true;
      }
      each.removeAll();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private record RailId(String peer, String rail) {}

  private record CounterId(String rail, String port, String counter) {}

  /** The meters in one registry. Its own thread looks. */
  private final class Bound {
    private final MeterRegistry registry;
    private final Map<RailId, RailSeries> series = new HashMap<>();
    private final Map<RailId, List<Meter>> meters = new HashMap<>();
    private final Map<CounterId, AtomicLong> counts = new HashMap<>();
    private final List<Meter> counters = new ArrayList<>();
    private Thread thread = Thread.currentThread();

    Bound(MeterRegistry registry) {
      this.registry = registry;
    }

    synchronized void look() {
      Map<RailId, List<FlowReport>> seen = new LinkedHashMap<>();
      for (FlowReport path : flows.get()) {
        seen.computeIfAbsent(new RailId(path.peer(), path.transport() + ":" + path.rail()), _ -> new ArrayList<>())
            .add(path);
      }
      seen.forEach(
          (id, paths) -> {
            RailSeries known = series.get(id);
            RailSeries each = known == null ? new RailSeries() : known;
            each.see(paths);
            if (known == null) {
              series.put(id, each);
              meters.put(id, register(id, each));
            }
          });
      series.keySet().retainAll(seen.keySet());
      Iterator<Map.Entry<RailId, List<Meter>>> all = meters.entrySet().iterator();
      while (all.hasNext()) {
        Map.Entry<RailId, List<Meter>> each = all.next();
        if (!seen.containsKey(each.getKey())) {
          remove(each.getValue());
          all.remove();
        }
      }
      ports.get().forEach(port -> port.trouble().forEach((name, count) -> count(port, name, count)));
    }

    private void count(PortReport port, String name, long count) {
      counts.computeIfAbsent(
          new CounterId(port.rail(), port.port(), name),
          _ -> {
            AtomicLong present = new AtomicLong();
            counters.add(
                FunctionCounter.builder("hawser.port", present, AtomicLong::doubleValue)
                    .description("What the operating system counts at the port of a rail, by the driver's names")
                    .tags("agent", agent, "rail", port.rail(), "port", port.port(), "counter", name)
                    .register(registry));
            return present;
          })
          .set(count);
    }

    private List<Meter> register(RailId id, RailSeries of) {
      Tags tags = Tags.of("agent", agent, "peer", id.peer(), "rail", id.rail());
      List<Meter> all = new ArrayList<>();
      all.add(
          FunctionCounter.builder("hawser.bytes.written", of, RailSeries::written)
              .description("Written to the peer and acknowledged").baseUnit("bytes").tags(tags).register(registry));
      all.add(
          FunctionCounter.builder("hawser.bytes.read", of, RailSeries::read)
              .description("Read from the peer").baseUnit("bytes").tags(tags).register(registry));
      all.add(
          Gauge.builder("hawser.bytes.in.flight", of, RailSeries::inFlight)
              .description("Under way now").baseUnit("bytes").tags(tags).register(registry));
      all.add(
          Gauge.builder("hawser.paths", of, RailSeries::up)
              .description("Paths by their state").tags(tags.and("state", "up")).register(registry));
      all.add(
          Gauge.builder("hawser.paths", of, RailSeries::down)
              .description("Paths by their state").tags(tags.and("state", "down")).register(registry));
      for (Anomaly anomaly : Anomaly.values()) {
        all.add(
            Gauge.builder("hawser.path.anomalies", of, series -> series.pathsWith(anomaly))
                .description("Paths that have it now")
                .tags(tags.and("anomaly", anomaly.name().toLowerCase(Locale.ROOT)))
                .register(registry));
      }
      all.add(
          FunctionTimer.builder(
              "hawser.chunk.latency", of, RailSeries::chunks, RailSeries::chunkNanos, TimeUnit.NANOSECONDS)
              .description("From the post of a chunk to its acknowledgement; one in sixteen")
              .tags(tags).register(registry));
      all.add(
          FunctionCounter.builder("hawser.tcp.retransmitted", of, RailSeries::retransmitted)
              .description("Segments sent again").tags(tags).register(registry));
      all.add(
          TimeGauge.builder("hawser.tcp.round.trip", of, TimeUnit.NANOSECONDS, RailSeries::roundTripNanos)
              .description("There and back to the peer's kernel, of the slowest connection").tags(tags)
              .register(registry));
      return all;
    }

    synchronized void removeAll() {
      meters.values().forEach(this::remove);
      meters.clear();
      series.clear();
      remove(counters);
      counters.clear();
      counts.clear();
    }

    private void remove(List<Meter> some) {
      some.forEach(registry::remove);
    }
  }
}
