/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Command.Refusal;
import dev.hawser.engine.mapped.Host;
import dev.hawser.engine.mapped.InitiatorConnection;
import dev.hawser.engine.mapped.InitiatorSetup;
import dev.hawser.engine.mapped.MappedConnection;
import dev.hawser.engine.mapped.PathAnswer;
import dev.hawser.engine.mapped.PathEnds;
import dev.hawser.engine.mapped.PathMaker;
import dev.hawser.engine.mapped.PathOffer;
import dev.hawser.engine.mapped.Populator;
import dev.hawser.engine.mapped.ProcessIdentity;
import dev.hawser.engine.mapped.TargetConnection;
import dev.hawser.engine.mapped.TargetSetup;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionBinder;
import dev.hawser.memory.RegistryListener;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Shared memory between the processes of one host. */
final class ShmTransport implements Transport, PathMaker {
  static final String NAME = "shm";

  /** Above any NIC. */
  private static final int PREFERENCE = 1000;

  private static final int PREFERRED_CHUNK_BYTES = 4 << 20;
  private static final int MAX_DESCRIPTION_BYTES = 4096;
  private static final TransportTraits TRAITS =
      new TransportTraits(true, true, MappedConnection.MAX_MESSAGE_BYTES, Long.SIZE, PREFERRED_CHUNK_BYTES, 1);

  private final Host host;
  private final MemoryRegistry registry;
  private final boolean kernelCopies;
  private final ShmBinder binder;
  private final Populator populator = new Populator();
  private final PtracePermission permission;
  private final List<Rail> rails = List.of(new Rail(NAME, NAME, 0, 0));
  private final Arena arena = Arena.ofShared();
  private final MemorySegment probe = arena.allocate(ValueLayout.JAVA_LONG);
  private final long probeValue = new SecureRandom().nextLong();
  private final Set<TargetConnection> targets = ConcurrentHashMap.newKeySet();
  private final RegistryListener listener =
      new RegistryListener() {
        @Override
        public void removed(Region region) {
          targets.forEach(TargetConnection::regionClosing);
        }
      };

  ShmTransport(Host host, TransportContext context, ShmSettings settings) {
    this.host = host;
    this.registry = context.registry();
    this.kernelCopies = settings.kernelCopy() && host.self().copies();
    this.binder =
        new ShmBinder(
            kernelCopies,
            settings.kernelCopy()
                ? "process_vm_readv is forbidden here (docker run --security-opt seccomp=…, --cap-add SYS_PTRACE)"
                : "shm.kernel-copy is false");
    this.permission = new PtracePermission(settings, host.proc());
    probe.set(ValueLayout.JAVA_LONG, 0, probeValue);
    registry.addListener(listener);
  }

  @Override
  public String name() {
    return NAME;
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
  public List<Rail> rails() {
    return rails;
  }

  @Override
  public byte[] description() {
    ByteBuffer to = ProcessIdentity.littleEndian(new byte[MAX_DESCRIPTION_BYTES]);
    host.self().encode(to);
    return ProcessIdentity.toBytes(to);
  }

  @Override
  public Reachability reach(byte[] peerDescription) {
    ProcessIdentity peer;
    try {
      peer = ProcessIdentity.decode(ProcessIdentity.littleEndian(peerDescription));
    } catch (PathSetupException e) {
      return new Reachability.Unreachable(
          Objects.requireNonNullElse(e.getMessage(), "the peer's description is damaged"));
    }
    String obstacle = host.obstacle(peer);
    return obstacle.isEmpty()
        ? new Reachability.Reachable(PREFERENCE, List.of(new Reachability.Route(rails.getFirst(), NAME)))
        : new Reachability.Unreachable(obstacle);
  }

  @Override
  public PathSetup initiate(Reachability.Route route, String peer, PathKey key, byte[] peerDescription) {
    if (reach(peerDescription) instanceof Reachability.Unreachable(String reason)) {
      throw new PathSetupException(reason);
    }
    return new InitiatorSetup(this, key);
  }

  @Override
  public PathSetup accept(String rail, String peer, PathKey key, byte[] offer) {
    return TargetSetup.accept(this, key, PathOffer.decode(offer));
  }

  @Override
  public Host host() {
    return host;
  }

  @Override
  public void permit(int pid) {
    permission.permit(pid);
  }

  @Override
  public PathAnswer answer(int bellFd) {
    return new PathAnswer(host.self(), bellFd, probe.address(), probeValue, kernelCopies);
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
            KernelCopy.explain(errno, pid, host.proc())
                + "; or set shm.kernel-copy to false on both sides, and shm serves only memory that a registry allocated");
      }
      if (word.get(ValueLayout.JAVA_LONG, 0) != answer.probeValue()) {
        throw new PathSetupException("process " + pid + " is not the target: its memory holds something else");
      }
    }
  }

  @Override
  public Connection initiator(PathEnds ends) {
    return new InitiatorConnection(
        ends, host.proc(), populator,
        regions -> new HostMover(regions, HostDeviceOps.INSTANCE, ends.peer(), host.proc()));
  }

  @Override
  public Connection target(PathEnds ends) {
    TargetConnection connection = new TargetConnection(ends, registry, this::refusal, targets::remove);
    targets.add(connection);
    return connection;
  }

  private @Nullable Refusal refusal(Region region) {
    if (!region.device().isHost() || region.access().mask() == 0) {
      return Refusal.NOT_PERMITTED;
    }
    return region.backing().isEmpty() && !kernelCopies ? Refusal.NOT_MAPPABLE : null;
  }

  @Override
  public void close() {
    registry.removeListener(listener);
    arena.close();
  }
}
