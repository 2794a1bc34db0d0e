/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.time.Duration;

/**
 * A region was still used by transfers when the deadline of its close passed. It stays closing: it takes no new uses,
 * its memory stays mapped, and the close can be tried again.
 */
public final class RegionInUseException extends MemoryException {
  private static final long serialVersionUID = 1L;

  private final int regionId;
  private final int uses;

  RegionInUseException(Region region, int uses, Duration deadline) {
    super(
        region
            + " is still used by transfers, "
            + uses
            + (uses == 1 ? " use, " : " uses, ")
            + deadline.toMillis()
            + " ms after its close began; it takes no new ones: cancel or await those, then close it again");
    this.regionId = region.id();
    this.uses = uses;
  }

  /** The region's id, unsigned. */
  public int regionId() {
    return regionId;
  }

  /** How many uses were left. */
  public int uses() {
    return uses;
  }
}
