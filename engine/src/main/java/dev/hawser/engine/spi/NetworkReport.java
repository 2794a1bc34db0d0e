/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

/**
 * What the network below a connection says of it: for TCP, what the kernel counts.
 *
 * @param retransmitted segments sent again since the connection began
 * @param reordered times that segments were seen to arrive out of their order; 0 where it is not told
 * @param roundTripNanos smoothed, the peer's kernel there and back, queues included
 * @param leastRoundTripNanos the least of the last minutes; 0 where it is not told
 * @param window bytes that congestion control lets be under way
 */
public record NetworkReport(
    long retransmitted, long reordered, long roundTripNanos, long leastRoundTripNanos, long window) {}
