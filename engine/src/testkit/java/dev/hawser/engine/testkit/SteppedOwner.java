/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

/** A host whose clock stands still until the test moves it, and whose dice always show the same. */
public abstract class SteppedOwner extends SoleOwner {
  /** The time, in nanoseconds. */
  public long now = 1;

  /** The clock stands at 1. */
  protected SteppedOwner() {}

  @Override
  public long nanoTime() {
    return now;
  }

  @Override
  public long random(long bound) {
    return 0;
  }
}
