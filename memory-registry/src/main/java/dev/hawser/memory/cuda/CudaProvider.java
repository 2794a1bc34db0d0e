/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.DeviceProvider;

/** How the registry gets at CUDA. */
public final class CudaProvider implements DeviceProvider {
  /** For the service loader. */
  public CudaProvider() {}

  @Override
  public DeviceKind kind() {
    return DeviceKind.CUDA;
  }

  @Override
  public boolean loaded() {
    return Cuda.loaded();
  }

  @Override
  public DeviceMemory open() {
    return Cuda.memory();
  }
}
