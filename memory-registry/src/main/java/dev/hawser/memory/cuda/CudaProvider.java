/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.DeviceProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** How the registry gets at CUDA. */
public final class CudaProvider implements DeviceProvider {
  // Of a server or workstation, of Windows' subsystem, of Tegra.
  private static final List<Path> NODES =
      List.of(Path.of("/dev/nvidiactl"), Path.of("/dev/dxg"), Path.of("/dev/nvhost-ctrl-gpu"));

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
  public Optional<String> absence() {
    return Cuda.loaded() || NODES.stream().anyMatch(Files::exists)
        ? Optional.empty()
        : Optional.of("the kernel shows no NVIDIA device (none of " + NODES + "); install NVIDIA's driver, or give the"
            + " container its GPU");
  }

  @Override
  public DeviceMemory open() {
    return Cuda.memory();
  }
}
