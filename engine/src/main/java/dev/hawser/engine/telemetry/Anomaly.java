/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

/** What can be wrong with a path although it is up. */
public enum Anomaly {
  /** It has as much under way as it may, and transfers wait: more is asked for than the network carries. */
  BACK_PRESSURE,
  /** Small chunks took far longer than their own bytes: they waited behind others. */
  HEAD_OF_LINE,
  /** It is busy, and less than half as fast as the median of the busy paths beside it. */
  SLOW_RAIL,
  /** The network answers, the peer's process does not: the network is not what is slow. */
  PEER_NOT_READY
}
