/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/** How a renewal ended. */
public sealed interface RenewOutcome permits RenewOutcome.Renewed, Barred {
  /**
   * The entry stands.
   *
   * @param revision of the entry
   * @param ttlMillis from now, milliseconds
   */
  record Renewed(long revision, long ttlMillis) implements RenewOutcome {}
}
