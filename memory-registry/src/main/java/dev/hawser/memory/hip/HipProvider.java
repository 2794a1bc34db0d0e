/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.DeviceProvider;

/** How the registry gets at HIP. */
public final class HipProvider implements DeviceProvider {
  /** For the service loader. */
  public HipProvider() {}

  @Override
  public DeviceKind kind() {
    return DeviceKind.HIP;
  }

  @Override
  public boolean loaded() {
    return Hip.loaded();
  }

  @Override
  public DeviceMemory open() {
    return Hip.memory();
  }
}
