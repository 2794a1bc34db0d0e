/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/** How a wish to join ended. */
public sealed interface JoinOutcome {
  /**
   * It is a member.
   *
   * @param meeting as it is now
   */
  record Joined(Meeting meeting) implements JoinOutcome {}

  /**
   * Another has the rank.
   *
   * @param member who
   */
  record RankTaken(String member) implements JoinOutcome {}

  /**
   * The meeting is of another size.
   *
   * @param size which
   */
  record SizeDiffers(int size) implements JoinOutcome {}

  /**
   * There is no room.
   *
   * @param why which limit was reached
   */
  record Full(String why) implements JoinOutcome {}
}
