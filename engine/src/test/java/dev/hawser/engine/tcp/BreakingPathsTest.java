/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.testkit.SilentHandler;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RemoteKey;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Path after path breaks as soon as it carries a certain transfer: that one is given up, and not the link. */
@Timeout(60)
class BreakingPathsTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final int BYTES = 1 << 20;

  /** More than the handshake and some heartbeats, less than the smallest chunk of a large transfer. */
  private static final int BYTES_UNTIL_CUT = 32 << 10;

  private static final int MAX_BROKEN = 8;

  private final MemoryRegistry registry = MemoryRegistry.create();

  @Test
  void aTransferUnderWhichEveryPathBreaksIsGivenUpAndTheOthersGoOn() throws IOException {
    try (registry;
        Engine target = start("target");
        Relay relay = new Relay(port(target.listenAddresses().getFirst()));
        Engine initiator = start("initiator")) {
      Region from = registry.allocate(BYTES, Access.LOCAL);
      Region to = registry.allocate(BYTES, Access.REMOTE_READ_WRITE);
      Link link =
          initiator.connect(
              new PeerDescription(
                  target.name(), target.epoch(), List.of(relay.address()), target.transportDescriptions()));
      link.awaitUp(PATIENCE);

      Transfer large = link.prepare(Op.WRITE, plan(from, to, BYTES)).timeout(PATIENCE);
      large.post();
      assertThat(large.await(PATIENCE)).as("it ends before its deadline").isTrue();

      assertThat(relay.cuts.get()).as("the fault happened").isGreaterThanOrEqualTo(MAX_BROKEN);
      assertThat(large.end()).isInstanceOfSatisfying(TransferEnd.Failed.class, failed -> {
        assertThat(failed.cause()).isEqualTo(Cause.REMOTE_ACCESS);
        assertThat(failed.notified()).isEqualTo(Notified.NO);
        assertThat(failed.message())
            .contains(MAX_BROKEN + " paths broke one after the other", "nothing was acknowledged", "target");
        assertThat(failed.rail()).isNotNull();
        assertThat(failed.path()).isNotNull();
      });
      assertThat(large.acknowledgedBytes()).isZero();

      Transfer small = link.prepare(Op.WRITE, plan(from, to, 8)).timeout(PATIENCE).flush(true);
      for (int i = 0; i < 3; i++) {
        small.post();
        assertThat(small.await(PATIENCE)).isTrue();
        assertThat(small.end()).isEqualTo(new TransferEnd.Done());
      }
      assertThat(from.uses()).isZero();
    }
  }

  private static TransferPlan plan(Region from, Region to, long bytes) {
    Map<String, byte[]> keys = new TreeMap<>();
    for (RemoteKey key : to.remoteKeys()) {
      keys.put(key.transport(), key.bytes());
    }
    return new TransferPlan(
        BlockPairs.of(BlockList.of(from.address(), bytes), BlockList.of(to.address(), bytes)),
        new Region[] {from},
        new RemoteRegion[] {
            new RemoteRegion(to.id(), to.address(), to.length(), to.device(), to.access(), keys)
        });
  }

  private Engine start(String name) {
    EngineConfig config =
        new EngineConfig(name, System.nanoTime(), List.of("127.0.0.1:0"), List.of("tcp"), List.of(), 0, 0,
            Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofSeconds(5), Duration.ofMillis(20), 1024,
            new byte[0], TlsConfig.OFF, Map.of());
    return Engine.start(config, registry, new SilentHandler());
  }

  private static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /** What lies between them resets every connection that carries more than a little. */
  private static final class Relay implements AutoCloseable {
    final AtomicInteger cuts = new AtomicInteger();
    private final ServerSocket server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final int target;

    Relay(int target) throws IOException {
      this.target = target;
      Thread.ofVirtual().start(this::accept);
    }

    String address() {
      return "127.0.0.1:" + server.getLocalPort();
    }

    private void accept() {
      while (true) {
        try {
          Socket near = server.accept();
          Socket far = new Socket(InetAddress.getLoopbackAddress(), target);
          open.add(near);
          open.add(far);
          Thread.ofVirtual().start(() -> carry(near, far, BYTES_UNTIL_CUT));
          Thread.ofVirtual().start(() -> carry(far, near, Integer.MAX_VALUE));
        } catch (IOException closed) {
          return;
        }
      }
    }

    private void carry(Socket from, Socket to, int most) {
      try {
        InputStream in = from.getInputStream();
        OutputStream out = to.getOutputStream();
        byte[] buffer = new byte[4096];
        int carried = 0;
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
          carried += n;
          if (carried > most) {
            cuts.incrementAndGet();
            break;
          }
          out.write(buffer, 0, n);
        }
      } catch (IOException reset) {
        // by one of the ends: so is the other
      }
      reset(from);
      reset(to);
    }

    private void reset(Socket socket) {
      open.remove(socket);
      try {
        socket.setSoLinger(true, 0);
        socket.close();
      } catch (IOException closed) {
        // as it should be
      }
    }

    @Override
    public void close() throws IOException {
      server.close();
      open.forEach(this::reset);
    }
  }
}
