/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.mapped.Host;
import dev.hawser.engine.mapped.PathSegment;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.DeviceMemory;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.ffi.MissingNativeException;
import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.gpu.GpuMemory;
import java.io.IOException;
import java.util.Optional;

/** Finds out whether there are GPUs whose memory other processes of this host can open. */
public final class GpuIpcTransportProvider implements TransportProvider {

  /** For the service loader. */
  public GpuIpcTransportProvider() {}

  @Override
  public String name() {
    return GpuIpcTransport.NAME;
  }

  @Override
  public Outcome create(TransportContext context) {
    try {
      GpuIpcSettings settings = GpuIpcSettings.of(context.settings());
      Optional<String> absence = context.registry().deviceAbsence(DeviceKind.CUDA);
      if (absence.isPresent()) {
        return new Outcome.Absent(absence.get());
      }
      Host host = Host.probe(false);
      PathSegment.probe();
      GpuIpc gpus = new GpuIpc(() -> devices(context.registry()), host.self().pid());
      return new Outcome.Present(new GpuIpcTransport(host, context.registry(), gpus, settings));
    } catch (IllegalArgumentException | IOException | NativeCallException | MissingNativeException e) {
      String reason = e.getMessage();
      return new Outcome.Absent(reason == null ? e.toString() : reason);
    }
  }

  /** Starts the driver: not before memory of a device is met, for that takes long, and most processes have none. */
  private static GpuMemory devices(MemoryRegistry registry) {
    DeviceMemory memory = registry.deviceMemory(DeviceKind.CUDA);
    if (!(memory instanceof GpuMemory gpus)) {
      throw new DeviceAbsentException(
          DeviceKind.CUDA, "the registry was given " + memory + ", which has no handles for other processes");
    }
    if (gpus.gpus().isEmpty()) {
      throw new DeviceAbsentException(DeviceKind.CUDA, gpus + ": there is nothing to move");
    }
    return gpus;
  }
}
