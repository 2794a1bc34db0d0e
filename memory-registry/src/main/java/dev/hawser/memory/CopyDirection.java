/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** Which side of a {@link BlockPairs} a copy reads. */
public enum CopyDirection {
  /** Reads local blocks and writes remote ones. */
  LOCAL_TO_REMOTE,
  /** Reads remote blocks and writes local ones. */
  REMOTE_TO_LOCAL
}
