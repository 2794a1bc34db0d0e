/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.spi.DataRequest;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What one path has carried in all its generations. Counted by the path's owner without a lock; any thread may look, and
 * sees each number as it was at some instant.
 */
final class PathTraffic {
  /** One chunk of so many is timed: reading the clock twice for each would cost more than small chunks themselves do. */
  private static final int TIMED = 16;

  private static final VarHandle WRITTEN;
  private static final VarHandle READ;
  private static final VarHandle COUNT = MethodHandles.arrayElementVarHandle(long[].class);

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      WRITTEN = lookup.findVarHandle(PathTraffic.class, "written", long.class);
      READ = lookup.findVarHandle(PathTraffic.class, "read", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final long[] latencies = new long[LatencyCounts.BUCKETS];
  private long written;
  private long read;
  private int chunks;

  /** Owner only: whether the chunk that is posted now is one to be timed. */
  boolean timesNext() {
    return chunks++ % TIMED == 0;
  }

  /** Owner only. */
  void acknowledged(DataRequest.Op op, long bytes) {
    if (op == DataRequest.Op.READ) {
      READ.setOpaque(this, read + bytes);
    } else {
      WRITTEN.setOpaque(this, written + bytes);
    }
  }

  /** Owner only: from the post of a chunk to its acknowledgement. */
  void took(long nanos) {
    int bucket = LatencyCounts.bucket(nanos);
    COUNT.setOpaque(latencies, bucket, latencies[bucket] + 1);
  }

  long written() {
    return (long) WRITTEN.getOpaque(this);
  }

  long read() {
    return (long) READ.getOpaque(this);
  }

  LatencyCounts latency() {
    long[] seen = new long[LatencyCounts.BUCKETS];
    for (int i = 0; i < seen.length; i++) {
      seen[i] = (long) COUNT.getOpaque(latencies, i);
    }
    return LatencyCounts.of(seen);
  }
}
