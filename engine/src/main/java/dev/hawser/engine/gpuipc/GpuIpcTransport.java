/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

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
import dev.hawser.engine.spi.TransportTraits;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionBinder;
import dev.hawser.memory.RegistryListener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** GPUs of one host that reach into the memory of other processes. */
final class GpuIpcTransport implements Transport, PathMaker {
  static final String NAME = "gpu-ipc";

  /** Below shm, which is better from host to host; what lies on a device has no key for that. */
  private static final int PREFERENCE = 900;

  /** The only driver that it is written for so far. */
  static final DeviceKind KIND = DeviceKind.CUDA;

  private static final int MAX_DESCRIPTION_BYTES = 4096;

  private final TransportTraits traits;
  private final Host host;
  private final MemoryRegistry registry;
  private final GpuIpc gpus;
  private final GpuIpcBinder binder;
  private final Populator populator = new Populator();
  private final List<Rail> rails = List.of(new Rail(NAME, NAME, 0, 0));
  private final Set<TargetConnection> targets = ConcurrentHashMap.newKeySet();
  private final RegistryListener listener =
      new RegistryListener() {
        @Override
        public void removed(Region region) {
          targets.forEach(TargetConnection::regionClosing);
        }
      };

  private volatile int binderIndex = -1;

  GpuIpcTransport(Host host, MemoryRegistry registry, GpuIpc gpus, GpuIpcSettings settings) {
    this.traits =
        new TransportTraits(true, false, MappedConnection.MAX_MESSAGE_BYTES, Long.SIZE, settings.chunkBytes(), 1);
    this.host = host;
    this.registry = registry;
    this.gpus = gpus;
    this.binder = new GpuIpcBinder(gpus);
    registry.addListener(listener);
  }

  @Override
  public String name() {
    return NAME;
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

  // ------------------------------------------------------------------------------------------ for the set-ups

  @Override
  public Host host() {
    return host;
  }

  @Override
  public void permit(int pid) {
    // The driver's handles need no permission of ours; the files are opened as the user who owns them.
  }

  @Override
  public PathAnswer answer(int bellFd) {
    return new PathAnswer(host.self(), bellFd, 0, 0, false);
  }

  @Override
  public void verify(PathAnswer answer) {
    // A handle is tried when it is opened.
  }

  @Override
  public Connection initiator(PathEnds ends) {
    long startTicks;
    try {
      startTicks = host.proc().startTicks(ends.peer().pid());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new InitiatorConnection(
        ends,
        host.proc(),
        populator,
        regions -> new GpuMover(gpus, binderIndex, ends, startTicks, regions, ends.bell()::wakeSelf));
  }

  @Override
  public Connection target(PathEnds ends) {
    TargetConnection connection = new TargetConnection(ends, registry, this::refusal, targets::remove);
    targets.add(connection);
    return connection;
  }

  private @Nullable Refusal refusal(Region region) {
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

  @Override
  public void close() {
    registry.removeListener(listener);
  }
}
