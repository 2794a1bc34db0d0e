/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** UCX's own benchmark, over the transport of UCX that is like ours. */
final class UcxPerftest implements Peer {
  private static final String PROGRAM = "ucx_perftest";
  private static final Map<String, String> TRANSPORTS = Map.of("tcp", "tcp", "shm", "posix,cma");
  private static final long LARGEST_LATENCY = 4096;
  private static final double MIB = 1 << 20;
  private static final int LATENCY = 1;
  private static final int OVERALL_BANDWIDTH = 5;
  private static final int FIELDS = 8;
  private static final Duration START = Duration.ofSeconds(10);

  @Override
  public String name() {
    return PROGRAM;
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    if (!TRANSPORTS.containsKey(request.transport()) || !request.isPlain() || !request.mapped()) {
      return Optional.empty();
    }
    if (request.requestBytes() > LARGEST_LATENCY) {
      return Optional.of(Metric.GBYTES_PER_S);
    }
    // Its test of small reads keeps several under way, and then has no latency of one.
    return request.read() ? Optional.empty() : Optional.of(Metric.LATENCY_US);
  }

  @Override
  public Optional<String> missing() {
    return Programs.find(PROGRAM).isPresent()
        ? Optional.empty()
        : Optional.of("apt install ucx-utils (or dnf install ucx)");
  }

  @Override
  public double measure(PeerRequest request) {
    String program = Programs.find(PROGRAM).map(Object::toString).orElse(PROGRAM);
    String port = Integer.toString(Programs.freePort());
    boolean latency = request.requestBytes() <= LARGEST_LATENCY;
    String test = request.read() ? "ucp_get" : latency ? "ucp_put_lat" : "ucp_put_bw";
    String iterations = Long.toString(latency ? Math.round(request.seconds() * 20_000) : request.iterations());
    Map<String, String> environment =
        Map.of("UCX_TLS", TRANSPORTS.getOrDefault(request.transport(), "all"), "UCX_WARN_UNUSED_ENV_VARS", "n");
    List<String> client = List.of(program, "127.0.0.1", "-p", port, "-t", test, "-s",
        Long.toString(request.requestBytes()), "-n", iterations, "-w", "20", "-f", "-v");
    try (Programs.Running server = Programs.start(environment, List.of(program, "-p", port))) {
      return parse(Retry.untilServed(server, START, () -> {
        try (Programs.Running running = Programs.start(environment, client)) {
          return running.output(Programs.patience(request.time()));
        }
      }), latency);
    }
  }

  /** The last line of {@code -f -v}: iterations, then latency in us, bandwidth in MiB/s and messages per second. */
  static double parse(String out, boolean latency) {
    String last = out.strip().lines().reduce((_, line) -> line).orElse("");
    String[] fields = last.split(",", -1);
    try {
      if (fields.length == FIELDS) {
        double value = latency
            ? Double.parseDouble(fields[LATENCY].strip())
            : Double.parseDouble(fields[OVERALL_BANDWIDTH].strip()) * MIB / 1e9;
        if (value > 0) {
          return value;
        }
      }
    } catch (NumberFormatException e) {
      throw new PeerException(PROGRAM + " printed '" + last + "', which has no figure", e);
    }
    throw new PeerException(PROGRAM + " printed '" + last + "', which has no figure");
  }
}
