/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.mapped.Command.Refusal;
import dev.hawser.engine.mapped.Host;
import dev.hawser.engine.mapped.MappedConnection;
import dev.hawser.engine.mapped.MappedTransport;
import dev.hawser.engine.mapped.PathAnswer;
import dev.hawser.engine.mapped.PathEnds;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionBinder;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/** GPUs of one host that reach into the memory of other processes. */
final class GpuIpcTransport extends MappedTransport {
  static final String NAME = "gpu-ipc";

  /** Below shm, which is better from host to host; what lies on a device has no key for that. */
  private static final int PREFERENCE = 900;

  /** The only driver that it is written for so far. */
  static final DeviceKind KIND = DeviceKind.CUDA;

  private final TransportTraits traits;
  private final GpuIpc gpus;
  private final GpuIpcBinder binder;

  private volatile int binderIndex = -1;

  GpuIpcTransport(Host host, MemoryRegistry registry, GpuIpc gpus, GpuIpcSettings settings) {
    super(NAME, PREFERENCE, host, registry);
    this.traits =
        new TransportTraits(true, false, MappedConnection.MAX_MESSAGE_BYTES, Long.SIZE, settings.chunkBytes(), 1, 0);
    this.gpus = gpus;
    this.binder = new GpuIpcBinder(gpus);
  }

  @Override
  public TransportTraits traits() {
    return traits;
  }

  @Override
  public RegionBinder binder() {
    return binder;
  }

  @Override
  public void bound(int index) {
    binderIndex = index;
  }

  @Override
  public void permit(int pid) {
    // The driver's handles need no permission of ours; the files are opened as the user who owns them.
  }

  @Override
  public PathAnswer answer(int bellFd) {
    return new PathAnswer(host().self(), bellFd, 0, 0, false);
  }

  @Override
  public void verify(PathAnswer answer) {
    // A handle is tried when it is opened.
  }

  @Override
  public Connection initiator(PathEnds ends) {
    long startTicks;
    try {
      startTicks = host().proc().startTicks(ends.peer().pid());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return initiator(
        ends, regions -> new GpuMover(gpus, binderIndex, ends, startTicks, regions, ends.bell()::wakeSelf));
  }

  @Override
  protected @Nullable Refusal refusal(Region region) {
    if (region.access().mask() == 0) {
      return Refusal.NOT_PERMITTED;
    }
    boolean device = region.device().kind() == KIND;
    return device || region.backing().isPresent() ? null : Refusal.NOT_MAPPABLE;
  }

  /** For tests: what the paths share. */
  GpuIpc gpus() {
    return gpus;
  }
}
