/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.List;

/**
 * How a region's close ended.
 *
 * @param registrationReleased whether this was the last region of its registration, so that transports let it go
 * @param failures transports that could not unbind; while there are any, the memory is quarantined: still mapped, never
 *     used again, and tried again by {@link MemoryRegistry#close()}
 */
public record CloseResult(boolean registrationReleased, List<BindFailure> failures) {
  public CloseResult {
    failures = List.copyOf(failures);
  }

  /** Whether memory stays mapped because a transport still holds it. */
  public boolean quarantined() {
    return !failures.isEmpty();
  }
}
