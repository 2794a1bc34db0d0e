/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.time.Duration;

/**
 * What a peer is to measure.
 *
 * @param transport ours that it stands beside
 * @param read whether the bytes go to the side that posts
 * @param mapped whether all memory can be mapped by both processes
 * @param requestBytes bytes of one request
 * @param blockBytes bytes of one block; a request has one or several
 * @param windowBytes memory on each side that requests go through
 * @param time how long
 */
public record PeerRequest(String transport, boolean read, boolean mapped, long requestBytes, long blockBytes,
    long windowBytes, Duration time) {
  private static final double EXPECTED_BYTES_PER_SECOND = 1e9;
  private static final long LEAST = 20;
  private static final long MOST = 2_000_000;

  /** Requests that take about the time, for peers that count. */
  long iterations() {
    double wanted = time.toNanos() / 1e9 * EXPECTED_BYTES_PER_SECOND / requestBytes;
    return Math.round(Math.clamp(wanted, LEAST, MOST));
  }

  double seconds() {
    return time.toNanos() / 1e9;
  }

  /** Whether a request is one piece. */
  boolean isPlain() {
    return requestBytes == blockBytes;
  }
}
