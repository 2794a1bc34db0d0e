/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.memory.Registration;
import java.util.Optional;

/** Gives memory of a GPU a descriptor by which a NIC can register it. */
interface DmaBufExporter {
  /** Exports nothing. */
  DmaBufExporter NONE = registration -> Optional.empty();

  /** The dma-buf behind a registration, for the caller to close; empty if it has none. */
  Optional<DmaBuf> export(Registration registration);

  /**
   * An open dma-buf.
   *
   * @param fd its descriptor, the caller's to close
   * @param offset where in it the registration begins, in bytes
   */
  record DmaBuf(int fd, long offset) {}
}
