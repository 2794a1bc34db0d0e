/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.lang.foreign.MemorySegment;

/** All of the process's memory as one segment, for tables and arguments that this package made itself. */
final class Native {
  /** Address n of the process is offset n. */
  @SuppressWarnings("restricted") // only addresses of this package's own buffers come here
  static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private Native() {}
}
