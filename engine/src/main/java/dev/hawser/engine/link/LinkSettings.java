/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

/**
 * What the state machines need of the configuration.
 *
 * @param leaseNanos how long a silent peer counts as alive
 * @param heartbeatNanos interval of signs of life
 * @param connectTimeoutNanos of one attempt to open a path
 * @param drainNanos within which a cancel ends: its last quarter is for the flush of what did not come through
 * @param reopenMinNanos first pause before a path is opened again; doubles up to the maximum
 * @param reopenMaxNanos longest pause
 * @param notificationCredits notifications that one peer may have undelivered here
 * @param minChunkBytes smallest chunk
 * @param maxChunkBytes largest chunk
 * @param maxBytesInFlight bytes under way per path
 * @param firstTransfer the first transfer number; above 0
 */
public record LinkSettings(
    long leaseNanos,
    long heartbeatNanos,
    long connectTimeoutNanos,
    long drainNanos,
    long reopenMinNanos,
    long reopenMaxNanos,
    int notificationCredits,
    int minChunkBytes,
    int maxChunkBytes,
    long maxBytesInFlight,
    long firstTransfer) {

  /** What holds when nothing is configured. */
  public static LinkSettings defaults() {
    return new LinkSettings(
        2_000_000_000L,
        400_000_000L,
        5_000_000_000L,
        20_000_000L,
        5_000_000L,
        1_000_000_000L,
        1024,
        64 << 10,
        4 << 20,
        16L << 20,
        1);
  }

  /** Other timings, for tests. */
  public LinkSettings withTimes(long lease, long heartbeat, long connectTimeout, long drain) {
    return new LinkSettings(
        lease,
        heartbeat,
        connectTimeout,
        drain,
        reopenMinNanos,
        reopenMaxNanos,
        notificationCredits,
        minChunkBytes,
        maxChunkBytes,
        maxBytesInFlight,
        firstTransfer);
  }

  /** Other chunk sizes, for tests. */
  public LinkSettings withChunks(int min, int max, long inFlight) {
    return new LinkSettings(
        leaseNanos,
        heartbeatNanos,
        connectTimeoutNanos,
        drainNanos,
        reopenMinNanos,
        reopenMaxNanos,
        notificationCredits,
        min,
        max,
        inFlight,
        firstTransfer);
  }

  /** Other counts, for tests of credits and wrap-around. */
  public LinkSettings withCounts(int credits, long first) {
    return new LinkSettings(
        leaseNanos,
        heartbeatNanos,
        connectTimeoutNanos,
        drainNanos,
        reopenMinNanos,
        reopenMaxNanos,
        credits,
        minChunkBytes,
        maxChunkBytes,
        maxBytesInFlight,
        first);
  }
}
