/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/**
 * Tests whose target is another process, which {@link PeerHost} may start on another host: the property {@code
 * hawser.conformance.peer-host} says where one listens.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class FarTests implements Suite {
  private final Fixture fixture;
  private final AtomicLong seeds = new AtomicLong();
  private @Nullable Child shared;

  FarTests(Fixture fixture) {
    this.fixture = fixture;
  }

  @Override
  public final Fixture fixture() {
    return fixture;
  }

  @Override
  public final long seed() {
    return seeds.incrementAndGet();
  }

  /** The target's process, which all tests share. */
  public final Child child() {
    Child present = shared;
    if (present == null) {
      present = Child.start(fixture);
      shared = present;
    }
    return present;
  }

  @BeforeAll
  final void start() {
    fixture.obstacle().ifPresent(Assumptions::abort);
  }

  @AfterAll
  final void endTheOtherProcess() {
    Child present = shared;
    if (present != null) {
      present.end();
      present.close();
    }
  }
}
