/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** iperf3 on loopback, one stream. Its writes are at most 1 MiB, whatever the request is. */
final class Iperf3 implements Peer {
  private static final String FIGURE = "/end/sum_received/bits_per_second";
  private static final String PROGRAM = "iperf3";
  private static final long SMALLEST = 64 << 10;
  private static final long LARGEST_WRITE = 1 << 20;
  private static final Duration START = Duration.ofSeconds(10);

  @Override
  public String name() {
    return PROGRAM;
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    boolean comparable = request.transport().equals("tcp") && request.isPlain() && request.requestBytes() >= SMALLEST;
    return comparable ? Optional.of(Metric.GBYTES_PER_S) : Optional.empty();
  }

  @Override
  public Optional<String> missing() {
    return Programs.find(PROGRAM).isPresent()
        ? Optional.empty()
        : Optional.of("apt install iperf3 (or dnf install iperf3)");
  }

  @Override
  public double measure(PeerRequest request) {
    String program = Programs.find(PROGRAM).map(Object::toString).orElse(PROGRAM);
    String port = Integer.toString(Programs.freePort());
    List<String> client = new ArrayList<>(List.of(program, "-c", "127.0.0.1", "-p", port, "-J", "-t",
        Long.toString(Math.max(1, Math.round(request.seconds()))), "-l",
        Long.toString(Math.min(LARGEST_WRITE, request.requestBytes()))));
    if (request.read()) {
      client.add("-R");
    }
    try (Programs.Running server =
        Programs.start(Map.of(), List.of(program, "-s", "-1", "-B", "127.0.0.1", "-p", port))) {
      String out = Retry.untilServed(server, START, () -> measured(client, Programs.patience(request.time())));
      return JsonLine.number(PROGRAM, out, FIGURE) / 8e9;
    }
  }

  /** What the client prints, once it has a figure: with JSON it ends well even if nobody listens yet. */
  private static String measured(List<String> client, Duration deadline) {
    String out = Programs.run(client, deadline);
    JsonLine.number(PROGRAM, out, FIGURE);
    return out;
  }
}
