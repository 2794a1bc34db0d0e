/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.perf.bench.ByteSize;
import java.lang.management.ManagementFactory;
import java.time.Duration;

/** What options may be at most and at least; what is outside is refused by the option's name. */
final class Ranges {
  /** Threads that post, of one direction. */
  static final int MAX_THREADS = 1024;
  /** Requests under way, of all threads together: beyond that only queues are measured, and each is prepared first. */
  static final int MAX_UNDER_WAY = 1 << 16;
  /** Blocks of one request. */
  static final int MAX_BATCH = 1 << 22;
  /** Blocks of all requests under way: their places are kept on the heap. */
  static final long MAX_BLOCKS = 1L << 24;
  /** Memory on each side that is not needed for what is under way. */
  static final long MAX_WINDOW_BYTES = 64L << 30;
  /** Paths on each rail, as an agent's setting has it. */
  static final int MAX_PATHS = 256;

  static final Duration LONGEST = Duration.ofHours(24);
  static final Duration NO_TIME = Duration.ZERO;
  static final Duration SHORTEST = Duration.ofNanos(1000);

  private Ranges() {}

  /**
   * Returns the value.
   *
   * @throws UsageException if it is not from {@code least} to {@code most}
   */
  static int between(String option, int value, int least, int most) {
    if (value < least || value > most) {
      throw new UsageException(option + " is " + value + "; give " + least + " to " + most);
    }
    return value;
  }

  /**
   * Returns the time.
   *
   * @throws UsageException if it is not from {@code least} to {@link #LONGEST}
   */
  static Duration time(String option, Duration value, Duration least) {
    if (value.isZero() && !least.isZero()) {
      throw new UsageException(option + " is a time of 0, in which nothing can be done; give it some");
    }
    if (value.compareTo(least) < 0 || value.compareTo(LONGEST) > 0) {
      throw new UsageException(option + " is out of its limits; give " + (least.isZero() ? "0" : "1us") + " to 24h");
    }
    return value;
  }

  /**
   * Checks what is under way at once against what there is room for.
   *
   * @throws UsageException if it is too much
   */
  static void underWay(int threads, int depth, int batch, long requestBytes) {
    long requests = (long) threads * depth;
    if (requests > MAX_UNDER_WAY) {
      throw new UsageException("--threads " + threads + " with --depth " + depth + " are " + requests
          + " requests under way; lower one, so that there are at most " + MAX_UNDER_WAY);
    }
    if (requests * batch > MAX_BLOCKS) {
      throw new UsageException("--threads " + threads + " with --depth " + depth + " and requests of " + batch
          + " blocks are " + requests * batch + " blocks under way; lower one, so that there are at most "
          + MAX_BLOCKS);
    }
    long memory = memoryBytes();
    if (requestBytes > memory / requests) {
      throw new UsageException("--threads " + threads + " with --depth " + depth + " and requests of "
          + ByteSize.format(requestBytes) + " need more memory than the " + (memory >> 20)
          + "M of this host; lower one, or the size of a request");
    }
  }

  private static long memoryBytes() {
    return ManagementFactory.getPlatformMXBean(com.sun.management.OperatingSystemMXBean.class).getTotalMemorySize();
  }
}
