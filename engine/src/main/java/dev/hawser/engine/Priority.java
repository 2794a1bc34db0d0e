/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

/** Whose chunks go first where several transfers wait for the same paths. */
public enum Priority {
  /** Somebody waits for it: its chunks go before those of bulk transfers, which still get one in nine. */
  LATENCY,
  /** Everything else. */
  BULK
}
