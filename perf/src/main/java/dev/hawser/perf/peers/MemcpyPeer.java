/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** One thread that copies between two mapped buffers: {@code perf/peers/memcpy.c}. */
final class MemcpyPeer implements Peer {
  private static final long SMALLEST = 64;

  @Override
  public String name() {
    return "memcpy";
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    boolean comparable = request.transport().equals("shm") && request.mapped() && request.requestBytes() >= SMALLEST;
    return comparable ? Optional.of(Metric.GBYTES_PER_S) : Optional.empty();
  }

  @Override
  public Optional<String> missing() {
    return CPrograms.missing();
  }

  @Override
  public double measure(PeerRequest request) {
    String out = Programs.run(List.of(CPrograms.get("memcpy").toString(), Long.toString(request.requestBytes()),
        Long.toString(request.blockBytes()), Long.toString(request.windowBytes()),
        String.format(Locale.ROOT, "%.3f", request.seconds())), Programs.patience(request.time()));
    return JsonLine.number(name(), out, "/gbytes_per_s");
  }
}
