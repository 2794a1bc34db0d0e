/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The round trip of a blocking ping-pong over one socket: {@code perf/peers/pingpong.c}. */
final class PingPong implements Peer {
  private static final long LARGEST = 4096;

  @Override
  public String name() {
    return "pingpong";
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    boolean comparable = request.transport().equals("tcp") && request.isPlain() && request.requestBytes() <= LARGEST;
    return comparable ? Optional.of(Metric.LATENCY_US) : Optional.empty();
  }

  @Override
  public Optional<String> missing() {
    return CPrograms.missing();
  }

  @Override
  public double measure(PeerRequest request) {
    String out = Programs.run(List.of(CPrograms.get("pingpong").toString(), Long.toString(request.requestBytes()),
        String.format(Locale.ROOT, "%.3f", request.seconds())), Programs.patience(request.time()));
    return JsonLine.number(name(), out, "/latency_us/p50");
  }
}
