/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.util.List;

/**
 * One measurement.
 *
 * @param transport the transport's name
 * @param op the direction
 * @param bidirectional whether the target did the same at the same time; bytes and requests then are those of both
 * @param initiatorMemory where the initiator's bytes lie
 * @param targetMemory where the target's bytes lie
 * @param requestBytes bytes of one request
 * @param blockBytes bytes of one block
 * @param batch blocks of one request
 * @param threads threads that post
 * @param depth requests that each thread keeps under way
 * @param requests how many ended
 * @param seconds time in which they did
 * @param latency from a request's post until its completion was seen
 * @param post time inside the call that posts
 * @param cpuSecondsPerGib processor time of both processes
 * @param rails what each rail carried
 * @param verified how the bytes were compared
 * @param errors requests that failed, and bytes or requests that were found wrong
 */
public record BenchRow(String transport, Op op, boolean bidirectional, String initiatorMemory, String targetMemory,
    long requestBytes, long blockBytes, long batch, int threads, int depth, long requests, double seconds,
    Latencies latency, Latencies post, double cpuSecondsPerGib, List<RailUse> rails, Verify verified, long errors) {

  public BenchRow {
    rails = List.copyOf(rails);
  }

  /** Payload per second, in units of 10⁹ bytes. */
  public double gbytesPerSecond() {
    return seconds > 0 ? requests * (double) requestBytes / seconds / 1e9 : 0;
  }

  /** Payload per second, in units of 10⁹ bits. */
  public double gbitsPerSecond() {
    return 8 * gbytesPerSecond();
  }
}
