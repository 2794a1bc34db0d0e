/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.net.NetException;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.memory.ffi.Errno;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Takes connections on every listening socket and starts a handshake for each. Loop thread only. */
final class Acceptor {
  /** Taken from one socket before the others get their turn. */
  private static final int ACCEPTS_PER_TURN = 16;

  /** How long no connection is taken when this process has no descriptor left. */
  private static final long PAUSE_NANOS = 100_000_000L;

  private static final int EMFILE = 24;
  private static final int ENFILE = 23;

  /** What the handshakes lead to. */
  record Service(Map<String, Transport> transports, HelloHandler handler) {}

  private final BootstrapContext context;
  private final SecureRandom random = new SecureRandom();
  private final Map<Integer, InetEndpoint> listeners = new HashMap<>();
  private final Set<ServerHandshake> handshakes = new HashSet<>();
  /** Of the handshakes those that have not yet proven themselves, the oldest first. */
  private final Set<ServerHandshake> halfOpen = new LinkedHashSet<>();

  private int refusing;
  private @Nullable Service service;

  Acceptor(BootstrapContext context) {
    this.context = context;
  }

  void serve(Service offered) {
    service = offered;
  }

  @Nullable
  Service service() {
    return service;
  }

  byte[] newNonce() {
    byte[] nonce = new byte[Messages.NONCE_BYTES];
    random.nextBytes(nonce);
    return nonce;
  }

  void add(int fd, InetEndpoint endpoint) {
    listeners.put(fd, endpoint);
    context.loop().watch(fd, WaitSet.READ, () -> accept(fd, endpoint));
  }

  private void accept(int listener, InetEndpoint endpoint) {
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
      int fd = Sockets.accept(listener);
      if (fd == -Errno.EAGAIN) {
        return;
      }
      if (fd == -EMFILE || fd == -ENFILE) {
        context
            .log()
            .warn(endpoint + ": no connection can be taken: " + Errno.describe(-fd) + "; raise `ulimit -n`");
        context.loop().interest(listener, 0);
        context.loop().after(PAUSE_NANOS, () -> resume(listener));
        return;
      }
      if (fd < 0) {
        // The connection ended before it was taken (ECONNABORTED and its like, accept(2)).
        continue;
      }
      start(fd, endpoint);
    }
  }

  private void resume(int listener) {
    if (listeners.containsKey(listener)) {
      context.loop().interest(listener, WaitSet.READ);
    }
  }

  private void start(int fd, InetEndpoint endpoint) {
    String description;
    String address;
    try {
      InetEndpoint peer = Sockets.peer(fd);
      address = peer.host();
      description = peer + " → " + Sockets.local(fd);
      Sockets.noDelay(fd);
    } catch (NetException e) {
      Sockets.close(fd); // gone already
      return;
    }
    if (halfOpen.size() >= context.limits().halfOpen()) {
      ServerHandshake leaves = leavesFor(address);
      if (leaves == null) {
        refuse(fd, endpoint, description);
        return;
      }
      leaves.giveWay();
    }
    ServerHandshake handshake = new ServerHandshake(context, context.channel(fd, description, false), address, this);
    halfOpen.add(handshake);
    handshakes.add(handshake);
    handshake.begin(context.limits().silence().toNanos());
  }

  /**
   * Who gives way to a newcomer: of the address that has the most, the oldest that has said nothing; or, if all of them
   * have spoken, the oldest. An address does not push out one that has fewer, nor anybody who speaks in its own: those who
   * connect and say nothing, or much and nothing to the point, only push out each other.
   *
   * @return null if nobody does
   */
  private @Nullable ServerHandshake leavesFor(String newcomer) {
    Map<String, Integer> shares = new HashMap<>();
    for (ServerHandshake each : halfOpen) {
      shares.merge(each.address(), 1, Integer::sum);
    }
    int own = shares.getOrDefault(newcomer, 0);
    ServerHandshake chosen = null;
    int most = 0;
    for (ServerHandshake each : halfOpen) {
      int share = shares.getOrDefault(each.address(), 0);
      boolean may = each.isSilent() ? share >= own : share > own + 1;
      boolean better = share > most || (share == most && chosen != null && each.isSilent() && !chosen.isSilent());
      if (may && better) {
        chosen = each;
        most = share;
      }
    }
    return chosen;
  }

  /** Says BUSY to as many again; beyond that a connection is just closed. */
  private void refuse(int fd, InetEndpoint endpoint, String description) {
    context.log().warn(description + ": refused: " + halfOpen.size() + " handshakes are under way on " + endpoint);
    if (refusing >= context.limits().halfOpen()) {
      Sockets.close(fd);
      return;
    }
    refusing++;
    FrameChannel channel = new FrameChannel(fd, description, context.loop().scratch(), null);
    Refusal busy =
        new Refusal(Refusal.Code.BUSY, "agent " + context.identity().name() + " has too many handshakes under way");
    new BusyRefusal(context, channel, busy, () -> refusing--).begin(context.limits().handshake().toNanos());
  }

  /** Says one thing, whatever comes. */
  private static final class BusyRefusal extends Handshake {
    private final Refusal refusal;
    private final Runnable ended;

    BusyRefusal(BootstrapContext context, FrameChannel channel, Refusal refusal, Runnable ended) {
      super(context, channel);
      this.refusal = refusal;
      this.ended = ended;
    }

    @Override
    void established() {
      ended.run();
      sayInClearAndClose(Messages.RefuseMessage.of(refusal).encode());
    }

    @Override
    void received(Frame frame) {}

    @Override
    void broken(PathFault fault) {}
  }

  /** A handshake has proven itself, or has ended. */
  void settled(ServerHandshake handshake) {
    halfOpen.remove(handshake);
  }

  void ended(ServerHandshake handshake) {
    handshakes.remove(handshake);
  }

  void close() {
    listeners.keySet().forEach(fd -> {
      context.loop().unwatch(fd);
      Sockets.close(fd);
    });
    listeners.clear();
    List<ServerHandshake> open = new ArrayList<>(handshakes);
    for (ServerHandshake handshake : open) {
      handshake.end();
      handshake.letGo(); // that we close is no reason to warn about whoever was just coming
    }
  }
}
