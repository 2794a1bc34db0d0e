/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import org.jspecify.annotations.Nullable;

/**
 * Requests from one initiator to one target, in this process or in another, in rounds: arm, go, check. Several
 * directions go at once by having their {@link #go} called on threads of their own.
 */
interface Direction extends AutoCloseable {
  /** For reports: {@code initiator -> target}. */
  String name();

  /** Prepares the transfers of a row; its times begin anew. */
  void prepare(RowPlan plan);

  /**
   * Before a round: fills the memory that is sent.
   *
   * @param generation one more than that of the round before
   */
  void arm(long generation);

  /**
   * Posts every slot once, and goes on until the time is over unless every byte is to be verified.
   *
   * @param nanos the time, 0: once is enough
   */
  Round go(long nanos);

  /** After a round: says what is wrong with the memory that was filled, or null. */
  @Nullable
  String check(long generation);

  /** Forgets the times so far: they were those of warming up. */
  void forget();

  /** The times since. */
  Timings timings();

  /** Payload that each rail has carried so far, by name. */
  RailBytes railBytes();

  @Override
  void close();
}
