/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Command.Refusal;
import dev.hawser.engine.mapped.Host;
import dev.hawser.engine.mapped.MappedConnection;
import dev.hawser.engine.mapped.MappedTransport;
import dev.hawser.engine.mapped.PathAnswer;
import dev.hawser.engine.mapped.PathEnds;
import dev.hawser.engine.mapped.TargetMover;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.engine.staging.Staging;
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionBinder;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/** Shared memory between the processes of one host. */
final class ShmTransport extends MappedTransport {
  static final String NAME = "shm";

  /** Above any NIC. */
  private static final int PREFERENCE = 1000;

  private static final int PREFERRED_CHUNK_BYTES = 4 << 20;

  /** No more than any chunk has: slots are filled by pieces of all sizes, and its one path takes each request whole. */
  private static final int LEAST_STAGED_BYTES = 1;
  private static final TransportTraits TRAITS =
      new TransportTraits(true, true, MappedConnection.MAX_MESSAGE_BYTES, Long.SIZE, PREFERRED_CHUNK_BYTES, 1,
          LEAST_STAGED_BYTES);

  private final boolean kernelCopies;
  private final ShmBinder binder;
  private final PtracePermission permission;
  private final Staging staging;
  private final Staging sharedStaging;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment probe = arena.allocate(ValueLayout.JAVA_LONG);
  private final long probeValue = new SecureRandom().nextLong();

  ShmTransport(Host host, TransportContext context, ShmSettings settings) {
    super(NAME, PREFERENCE, host, context.registry());
    this.kernelCopies = settings.kernelCopy() && host.self().copies();
    this.binder =
        new ShmBinder(
            kernelCopies,
            settings.kernelCopy()
                ? "process_vm_readv is forbidden here (docker run --security-opt seccomp=…, --cap-add SYS_PTRACE)"
                : "shm.kernel-copy is false");
    this.permission = new PtracePermission(settings, host.proc());
    this.staging = new Staging(context.registry());
    this.sharedStaging = new Staging(context.registry(), true);
    probe.set(ValueLayout.JAVA_LONG, 0, probeValue);
  }

  @Override
  public TransportTraits traits() {
    return TRAITS;
  }

  @Override
  public RegionBinder binder() {
    return binder;
  }

  @Override
  public void permit(int pid) {
    permission.permit(pid);
  }

  @Override
  public PathAnswer answer(int bellFd) {
    return new PathAnswer(host().self(), bellFd, probe.address(), probeValue, kernelCopies);
  }

  /** Tries what every later copy needs, on a word whose value the target told us. */
  @Override
  public void verify(PathAnswer answer) {
    if (!kernelCopies || !answer.kernelCopies()) {
      return;
    }
    int pid = answer.identity().pid();
    try (KernelCopy kernel = new KernelCopy(pid);
        Arena arena = Arena.ofConfined()) {
      MemorySegment word = arena.allocate(ValueLayout.JAVA_LONG);
      kernel.add(word.address(), answer.probeAddress(), Long.BYTES);
      int errno = kernel.run(false);
      if (errno != 0) {
        throw new PathSetupException(
            KernelCopy.explain(errno, pid, host().proc())
                + "; or set shm.kernel-copy to false on both sides, and shm serves only memory that a registry allocated");
      }
      if (word.get(ValueLayout.JAVA_LONG, 0) != answer.probeValue()) {
        throw new PathSetupException("process " + pid + " is not the target: its memory holds something else");
      }
    }
  }

  @Override
  public Connection initiator(PathEnds ends) {
    return initiator(
        ends,
        regions -> {
          HostMover mover = new HostMover(regions, HostDeviceOps.INSTANCE, ends.peer(), host().proc());
          return new ShmMover(mover,
              new StagedMover(regions, HostDeviceOps.INSTANCE, mover, ends.peer().pid(), staging));
        });
  }

  @Override
  protected TargetMover targetMover() {
    return new StagedTarget(sharedStaging);
  }

  @Override
  protected @Nullable Refusal refusal(Region region) {
    if (region.access().mask() == 0) {
      return Refusal.NOT_PERMITTED;
    }
    if (!region.device().isHost()) {
      return null; // moved through slots
    }
    return region.backing().isEmpty() && !kernelCopies ? Refusal.NOT_MAPPABLE : null;
  }

  @Override
  public void close() {
    super.close();
    arena.close();
  }
}
