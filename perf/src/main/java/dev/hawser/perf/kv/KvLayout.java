/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.kv;

/** Where the keys and the values of a block lie. */
public enum KvLayout {
  /** Side by side: one descriptor per layer and block. */
  PACKED,
  /** Far apart: two descriptors per layer and block. */
  SPLIT
}
