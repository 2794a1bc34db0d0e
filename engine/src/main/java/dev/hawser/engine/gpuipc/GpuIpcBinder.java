/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.memory.RegionBinder;
import dev.hawser.memory.RegionKeys;
import dev.hawser.memory.Registration;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.IpcExport;

/** Makes the keys: the handle of a device's allocation; of host memory only that peers can map it, if they can. */
final class GpuIpcBinder implements RegionBinder {
  private final GpuIpc gpus;

  GpuIpcBinder(GpuIpc gpus) {
    this.gpus = gpus;
  }

  @Override
  public String transport() {
    return GpuIpcTransport.NAME;
  }

  /**
   * {@inheritDoc}
   *
   * @throws dev.hawser.memory.InvalidMemoryException if its allocator did not make it for other processes; the message names
   *     the setting to change
   * @throws dev.hawser.memory.DriverException if the driver refuses
   */
  @Override
  public RegionKeys bind(Registration registration) {
    if (registration.device().isHost()) {
      LocalHost local = new LocalHost(registration);
      return registration.backing().isPresent()
          ? new RegionKeys(new GpuKey.OfHost().encode(), local)
          : new RegionKeys(null, local);
    }
    Gpu gpu = gpus.memory().gpu(registration.device());
    IpcExport export = gpu.export(registration.address());
    GpuKey key =
        new GpuKey.OfDevice(
            export.handle(), registration.address() - export.offset(), export.length(), gpu.properties().uuid());
    return new RegionKeys(key.encode(), null);
  }

  @Override
  public void unbind(Registration registration, RegionKeys keys) {
    // Every path holds a use of what it lent and of what it copies here: there is none left when this is called.
    if (keys.local() instanceof LocalHost host) {
      host.end();
    }
  }
}
