/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/** How a deletion ended. */
public sealed interface DeleteOutcome permits DeleteOutcome.Deleted, Barred {
  /**
   * The entry is gone.
   *
   * @param revision of the deletion
   */
  record Deleted(long revision) implements DeleteOutcome {}
}
