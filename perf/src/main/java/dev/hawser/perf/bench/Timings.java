/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * The times of requests, in nanoseconds. Recording allocates nothing. For one thread.
 *
 * @param latency from post to completion seen
 * @param post inside the call that posts
 */
record Timings(Histogram latency, Histogram post) {
  private static final long LONGEST = 600_000_000_000L;
  private static final int DIGITS = 3;

  static Timings empty() {
    return new Timings(new Histogram(LONGEST, DIGITS), new Histogram(LONGEST, DIGITS));
  }

  void record(long latencyNanos, long postNanos) {
    latency.recordValue(Math.min(latencyNanos, LONGEST));
    post.recordValue(Math.min(postNanos, LONGEST));
  }

  void add(Timings other) {
    latency.add(other.latency);
    post.add(other.post);
  }

  void clear() {
    latency.reset();
    post.reset();
  }

  void writeTo(Message message) {
    message.put("latency", encode(latency)).put("posts", encode(post));
  }

  static Timings readFrom(Message message) {
    return new Timings(decode(message.bytes("latency")), decode(message.bytes("posts")));
  }

  private static byte[] encode(Histogram histogram) {
    ByteBuffer out = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoCompressedByteBuffer(out);
    byte[] bytes = new byte[length];
    out.get(0, bytes);
    return bytes;
  }

  private static Histogram decode(byte[] bytes) {
    try {
      return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(bytes), LONGEST);
    } catch (DataFormatException | IllegalArgumentException e) {
      throw new BenchException("a peer sent times that cannot be read; both sides must be of one version", e);
    }
  }
}
