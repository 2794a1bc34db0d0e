/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The registrations that there are, found by what a new region needs. Guarded by the registry's lock. */
final class RegistrationCache {
  private final boolean exactRanges;
  private RangeIndex<Registration> registrations = RangeIndex.empty();

  RegistrationCache(boolean exactRanges) {
    this.exactRanges = exactRanges;
  }

  /** One that a new region may share, or null. */
  @Nullable
  Registration find(long address, long length, Device device, Access access, long bufferId) {
    return exactRanges
        ? null
        : registrations.find(
            address, length, candidate -> candidate.serves(address, length, device, access, bufferId));
  }

  void add(Registration registration) {
    registrations =
        registrations.with(registration.address(), registration.length(), registration.order(), registration);
  }

  /** Takes a region off its registration; true if it was the last, and nobody will find the registration again. */
  boolean removeRegion(Registration registration) {
    if (!registration.removeRegion()) {
      return false;
    }
    registrations = registrations.without(registration.address(), registration.length(), registration.order());
    return true;
  }

  List<Registration> all() {
    return registrations.values();
  }

  int size() {
    return registrations.size();
  }
}
