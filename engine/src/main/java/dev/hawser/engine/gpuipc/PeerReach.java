/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.mapped.PeerMapping;
import dev.hawser.engine.mapped.PeerProcess;
import dev.hawser.engine.mapped.PeerRegion;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.PointerInfo;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * How a device of ours reaches a region of the peer. For the path's owner, but for what {@link GpuIpc#inBackground} runs.
 */
final class PeerReach {
  /**
   * What was opened.
   *
   * @param delta what to add to the peer's addresses to get to the same byte here
   * @param kernels whether kernels may touch it
   * @param home the device of ours that it lies on; −1 if it is host memory
   * @param release gives it back
   */
  record Opened(long delta, boolean kernels, int home, Runnable release) {}

  private static final System.Logger LOG = System.getLogger("dev.hawser.gpuipc");

  private final CompletableFuture<Opened> opening;

  private PeerReach(CompletableFuture<Opened> opening) {
    this.opening = opening;
  }

  /**
   * Begins to open a region that is lent.
   *
   * @param ordinal the device that will copy; −1 for the one where the region is, or the processor if that is the host's
   * @throws dev.hawser.engine.spi.PathSetupException if its key is damaged, or its device is not to be seen here
   */
  static PeerReach open(
      GpuIpc gpus, PeerProcess peer, long startTicks, PeerRegion region, RemoteRegion published, int ordinal) {
    PeerMapping mapping = region.mapping();
    if (mapping != null) {
      long delta = region.delta();
      if (ordinal < 0) {
        return new PeerReach(CompletableFuture.completedFuture(new Opened(delta, false, -1, () -> {})));
      }
      return new PeerReach(
          gpus.inBackground(
              () -> {
                HostReach reach = HostReach.pin(gpus, region.address() + delta, region.length());
                return new Opened(delta, reach.kernels(), -1, reach::release);
              }));
    }
    GpuKey.OfDevice key = gpus.deviceKey(published);
    long offset = region.address() - key.allocation();
    if (offset < 0 || offset > key.bytes() - region.length()) {
      throw new PathSetupException(
          "%s does not lie in the allocation that its key is for (0x%x, %d bytes)"
              .formatted(published, key.allocation(), key.bytes()));
    }
    Gpu home = gpus.byUuid(key.uuid(), published);
    Gpu opener = ordinal < 0 ? home : gpus.gpu(ordinal);
    if (gpus.opensNothing(peer.pid())) {
      // The driver opens no handle of its own process, nor need it.
      return new PeerReach(
          gpus.inBackground(
              () -> new Opened(0, kernelsReach(opener, home), home.ordinal(), () -> {})));
    }
    return new PeerReach(
        gpus.inBackground(
            () -> {
              boolean kernels = kernelsReach(opener, home);
              Gpu through = kernels ? opener : home; // a driver opens memory for a device that can address it
              OpenedMemory.Held held =
                  gpus.opened()
                      .hold(
                          through, new OpenedMemory.Name(peer.pid(), startTicks, key.handle(), through.ordinal()));
              PointerInfo found = gpus.memory().driver().pointer(held.address());
              if (found.memory() == PointerInfo.Memory.DEVICE && !found.covers(held.address(), key.bytes())) {
                held.release();
                throw new PathSetupException(
                    "the allocation of %s has %d bytes, not %d as its key says"
                        .formatted(published, found.length(), key.bytes()));
              }
              return new Opened(held.address() - key.allocation(), kernels, home.ordinal(), held::release);
            }));
  }

  /** Whether kernels of a device may touch memory of another one; where not, the driver copies by way of the host. */
  private static boolean kernelsReach(Gpu opener, Gpu home) {
    if (opener.reach(home)) {
      return true;
    }
    LOG.log(
        System.Logger.Level.INFO,
        "memory of {0} is copied slowly from and to {1}, by way of the host: there is neither NVLink nor PCIe peer access between"
            + " them (nvidia-smi topo -p2p r)",
        home,
        opener);
    return false;
  }

  /** Whether it is still being opened. */
  boolean isOpening() {
    return !opening.isDone();
  }

  /** Calls back once it is opened, or has failed, on any thread. */
  void whenSettled(Runnable callback) {
    CompletableFuture<Opened> _ = opening.whenComplete((_, _) -> callback.run());
  }

  /** Why it could not be opened; null if it is open. */
  @Nullable
  Throwable failure() {
    return opening.isCompletedExceptionally() ? opening.exceptionNow() : null;
  }

  /** What was opened. */
  Opened opened() {
    return opening.resultNow();
  }

  /** Gives it back; it is not {@linkplain #isOpening opening}. */
  void release() {
    if (!opening.isCompletedExceptionally()) {
      opened().release().run();
    }
  }
}
