/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Optional;

/** How a registry gets at a kind of GPU. Found by {@link java.util.ServiceLoader}; making one must cost nothing. */
public interface DeviceProvider {
  /** The kind of device. */
  DeviceKind kind();

  /**
   * Whether the driver's library is loaded into this process, by whomever. Where it is not, no address can be of this kind,
   * and the driver, whose start takes long, is left alone. Cheap.
   */
  boolean loaded();

  /**
   * Why there can be no such device here, as far as that is known without touching the driver; empty if there may be one.
   * Cheap.
   */
  default Optional<String> absence() {
    return Optional.empty();
  }

  /**
   * The driver, started if need be; always the same.
   *
   * @throws DeviceAbsentException if there is no driver, or no device; later calls say the same
   */
  DeviceMemory open();
}
