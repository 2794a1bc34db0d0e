/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class EarliestPathTest {
  private static final int MIB = 1 << 20;
  private static final double RATE = 1e9;

  private final EarliestPath policy = new EarliestPath(64 << 10);
  private final PathTable paths = new PathTable();

  private int choose() {
    return policy.choose(paths, 64 * MIB, false, bound -> 0);
  }

  private void two(long inFlightNear, long inFlightFar, double far) {
    paths.clear();
    paths.add(RATE, inFlightFar, 16 * MIB, true);
    paths.add(RATE, inFlightNear, 16 * MIB, true);
    paths.nearness(0, far);
  }

  @Test
  void takesTheNearerOfTwoThatAreAlike() {
    two(0, 0, 0.5);
    assertThat(choose()).isEqualTo(1);
    two(MIB, 0, 1);
    assertThat(choose()).as("both as near: the one with less to do").isZero();
  }

  @Test
  void aFarOneIsUsedOnceTheNearOneHasEnoughToDo() {
    two(12 * MIB, 0, 0.5);
    assertThat(choose()).isZero();
    two(16 * MIB, 0, 0.5);
    assertThat(choose()).as("it is full").isZero();
  }

  @Test
  void whoIsStarvedDoesNotWaitForOthers() {
    two(8 * MIB, 9 * MIB, 1);
    assertThat(policy.choose(paths, MIB, false, bound -> 0)).as("enough to do").isEqualTo(ChunkPolicy.WAIT);
    assertThat(policy.choose(paths, MIB, true, bound -> 0)).isEqualTo(1);
  }

  @Test
  void whoIsStarvedDoesNotTakeASlowPath() {
    paths.clear();
    paths.add(RATE, 8 * MIB, 8 * MIB, true);
    paths.add(RATE / 1000, 0, 8 * MIB, true);
    assertThat(policy.choose(paths, MIB, true, bound -> 0)).as("the fast one is full").isEqualTo(ChunkPolicy.WAIT);
  }

  @Test
  void nearnessIsForgottenWithTheTable() {
    two(0, 0, 0.5);
    paths.clear();
    paths.add(RATE, 0, 16 * MIB, true);
    paths.add(RATE, MIB, 16 * MIB, true);
    assertThat(choose()).isZero();
  }
}
