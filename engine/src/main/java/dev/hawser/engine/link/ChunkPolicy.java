/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.function.LongUnaryOperator;

/**
 * Decides which path takes the next piece of a transfer, and how much of it. Called for each chunk: no allocation, no
 * state of its own but what it is given.
 */
interface ChunkPolicy {

  /** Nothing is posted now. */
  int WAIT = -1;

  /**
   * The path that takes the next piece.
   *
   * @param paths at least one
   * @param remaining bytes of this piece of the transfer; more than 0
   * @param starved whether the transfer does not wait for what others have in flight: it would wait too long, or is urgent
   * @param random gives a number from 0 to below its argument
   * @return its row, which has room; or {@link #WAIT}
   */
  int choose(PathTable paths, long remaining, boolean starved, LongUnaryOperator random);

  /**
   * How much of it that path takes.
   *
   * @param most a chunk's largest size there
   * @return 1 to {@code remaining}
   */
  long length(PathTable paths, int path, long remaining, int most);
}
