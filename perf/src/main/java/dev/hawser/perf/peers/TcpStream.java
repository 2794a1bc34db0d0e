/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One socket between two processes that go through memory of the same size: {@code perf/peers/tcp_stream.c}. Nothing is
 * acknowledged, and no byte waits for a request to end.
 */
final class TcpStream implements Peer {
  private static final long SMALLEST = 4 << 10;
  private static final long MOST_BLOCKS = 1024;
  private static final int FIELDS = 5;
  private static final int GBYTES_PER_S = 3;

  @Override
  public String name() {
    return "tcp_stream";
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    boolean comparable = request.transport().equals("tcp") && request.requestBytes() >= SMALLEST
        && request.requestBytes() / request.blockBytes() <= MOST_BLOCKS;
    return comparable ? Optional.of(Metric.GBYTES_PER_S) : Optional.empty();
  }

  @Override
  public Optional<String> missing() {
    return CPrograms.missing();
  }

  @Override
  public double measure(PeerRequest request) {
    long memory = Math.max(request.windowBytes(), 2 * request.requestBytes());
    String out = Programs.run(List.of(CPrograms.get("tcp_stream").toString(), Long.toString(request.requestBytes()),
        Long.toString(memory), String.format(Locale.ROOT, "%.3f", request.seconds()),
        Long.toString(request.isPlain() ? 0 : request.blockBytes())), Programs.patience(request.time()));
    return parse(out);
  }

  /** One line: request, block, depth, GB/s and processor time per byte. */
  static double parse(String out) {
    String[] fields = out.strip().split(" ", -1);
    try {
      if (fields.length == FIELDS) {
        double rate = Double.parseDouble(fields[GBYTES_PER_S]);
        if (rate > 0) {
          return rate;
        }
      }
    } catch (NumberFormatException e) {
      throw new PeerException("tcp_stream printed '" + out.strip() + "', which has no figure", e);
    }
    throw new PeerException("tcp_stream printed '" + out.strip() + "', which has no figure");
  }
}
