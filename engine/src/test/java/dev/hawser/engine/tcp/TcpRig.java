/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.TlsChannel;
import dev.hawser.engine.net.TlsContexts;
import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.Staging;
import dev.hawser.memory.Access;
import dev.hawser.memory.AllocationOptions;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.HugePages;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Both ends of one path over loopback, moved by hand on one thread. */
final class TcpRig implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final AllocationOptions SMALL_PAGES = AllocationOptions.DEFAULT.withHugePages(HugePages.NO);

  final MemoryRegistry registry = MemoryRegistry.create();
  final InitiatorConnection initiator;
  final TargetConnection target;
  final Recorder atInitiator = new Recorder();
  final Recorder atTarget = new Recorder();
  private final DataRequest request = new DataRequest();

  TcpRig() {
    this("127.0.0.1:0", null, TcpSettings.DEFAULTS.with(0, 0, 0));
  }

  TcpRig(String address, @Nullable TlsConfig tls, TcpSettings settings) {
    this(address, tls, settings, true);
  }

  /** Ends that can tell each other of READs that nobody wants any more, or one that is older than that. */
  TcpRig(String address, @Nullable TlsConfig tls, TcpSettings settings, boolean withdraws) {
    int[] pair = connect(address);
    settings.apply(pair[0]);
    settings.apply(pair[1]);
    SSLEngine[] engines = tls == null ? new SSLEngine[2] : shake(pair, tls);
    this.initiator = new InitiatorConnection(new PathKey(3, 1), new Stream(pair[0], tls == null ? null : engines[0]),
        new PathStaging(new Staging(registry)), withdraws);
    this.target =
        new TargetConnection(new PathKey(3, 1), new Stream(pair[1], tls == null ? null : engines[1]), registry,
            new PathStaging(new Staging(registry)), new LostMemory(registry), withdraws);
  }

  /** A connected pair: who dialled, who accepted. */
  static int[] connect(String address) {
    int listener = Sockets.listen(InetEndpoint.parse(address), 4);
    InetEndpoint bound = Sockets.local(listener);
    int left = Sockets.stream(bound);
    int begun = Sockets.connect(left, bound);
    if (begun < 0 && begun != -Sockets.EINPROGRESS) {
      throw new AssertionError("connect: " + begun);
    }
    if (Sockets.poll(listener, Sockets.POLLIN, 10_000) == 0) {
      throw new AssertionError("nobody came");
    }
    int right = Sockets.accept(listener);
    Sockets.close(listener);
    return new int[] {left, right};
  }

  private static SSLEngine[] shake(int[] pair, TlsConfig tls) {
    SSLContext context =
        TlsContexts.of(
            Objects.requireNonNull(tls.certificate()),
            Objects.requireNonNull(tls.privateKey()),
            Objects.requireNonNull(tls.trust()));
    TlsChannel client = new TlsChannel(pair[0], TlsContexts.engine(context, true), TlsChannel.Reading.EXACT);
    TlsChannel server = new TlsChannel(pair[1], TlsContexts.engine(context, false), TlsChannel.Reading.EXACT);
    try {
      boolean done = false;
      while (!done) {
        boolean left = step(client);
        boolean right = step(server);
        done = left && right;
      }
    } catch (SSLException e) {
      throw new AssertionError(e);
    }
    return new SSLEngine[] {client.engine(), server.engine()};
  }

  private static boolean step(TlsChannel channel) throws SSLException {
    while (true) {
      TlsChannel.Handshake state = channel.handshake();
      if (state != TlsChannel.Handshake.TASK) {
        return state == TlsChannel.Handshake.DONE;
      }
      Runnable task = channel.engine().getDelegatedTask();
      if (task != null) {
        task.run();
      }
    }
  }

  /** A socket without a bootstrap. */
  record Stream(int fd, @Nullable SSLEngine tls) implements BootstrapStream {
    @Override
    public boolean encrypted() {
      return tls != null;
    }

    @Override
    public String description() {
      return "test socket " + fd;
    }

    @Override
    public void close() {
      Sockets.close(fd);
    }
  }

  Region allocate(long bytes) {
    return allocate(bytes, Access.REMOTE_READ_WRITE);
  }

  Region allocate(long bytes, Access access) {
    return registry.allocate(bytes, access, SMALL_PAGES);
  }

  static RemoteRegion published(Region region) {
    return new RemoteRegion(
        region.id(), region.address(), region.length(), region.device(), region.access(), Map.of());
  }

  static TransferPlan plan(Region local, long localOffset, Region remote, long remoteOffset, long length) {
    return plan(
        local,
        published(remote),
        BlockPairs.of(
            BlockList.of(local.address() + localOffset, length),
            BlockList.of(remote.address() + remoteOffset, length)));
  }

  static TransferPlan plan(Region local, RemoteRegion remote, BlockPairs pairs) {
    return new TransferPlan(pairs, new Region[] {local}, new RemoteRegion[] {remote});
  }

  boolean post(long workId, DataRequest.Op op, TransferPlan plan) {
    return post(workId, op, plan, 0, plan.totalBytes());
  }

  boolean post(long workId, DataRequest.Op op, TransferPlan plan, long position, long length) {
    return initiator.postData(workId, request.set(op, 1000 + workId, (int) workId, plan, position, length));
  }

  /** One of several requests of a transfer. */
  boolean postOf(long transfer, long workId, DataRequest.Op op, TransferPlan plan) {
    return initiator.postData(workId, request.set(op, transfer, (int) workId, plan, 0, plan.totalBytes()));
  }

  /** One turn of both ends. */
  int pump() {
    initiator.flushPosted();
    target.flushPosted();
    return initiator.poll(atInitiator) + target.poll(atTarget);
  }

  void pumpUntil(BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      pump();
      if (System.nanoTime() > deadline) {
        throw new AssertionError(
            "not within " + PATIENCE + ": " + initiator.describe() + " saw " + atInitiator + ", " + target.describe()
                + " saw " + atTarget);
      }
    }
  }

  void pumpUntilCompleted(int count) {
    pumpUntil(() -> atInitiator.completions.size() >= count || atInitiator.fault != null || atTarget.fault != null);
  }

  @Override
  public void close() {
    initiator.close();
    target.close();
    registry.close();
  }
}
