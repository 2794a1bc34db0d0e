/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.verbs.abi.VerbsContext;
import dev.hawser.memory.ffi.FileDescriptors;
import org.jspecify.annotations.Nullable;

/** Either side of a path that is being set up: a queue pair in INIT, or at the target already connected. */
final class VerbsSetup implements PathSetup {
  private static final int TARGET_DEPTH = 256;

  private final VerbsTransport transport;
  private final PathKey key;
  private final String peer;
  private final VerbsRail rail;
  private final QueuePair pair;
  private final @Nullable QpCard offer; // null at the initiator

  private VerbsSetup(
      VerbsTransport transport, PathKey key, String peer, VerbsRail rail, QueuePair pair, @Nullable QpCard offer) {
    this.transport = transport;
    this.key = key;
    this.peer = peer;
    this.rail = rail;
    this.pair = pair;
    this.offer = offer;
  }

  static VerbsSetup initiate(VerbsTransport transport, PathKey key, String peer, VerbsRail rail) {
    rail.check();
    QueuePair pair = new QueuePair(rail, true, rail.settings().sendQueue());
    return new VerbsSetup(transport, key, peer, rail, pair, null);
  }

  static VerbsSetup accept(VerbsTransport transport, PathKey key, String peer, VerbsRail rail, QpCard offer) {
    rail.check();
    QueuePair pair = new QueuePair(rail, false, Math.min(TARGET_DEPTH, rail.settings().sendQueue()));
    try {
      pair.connect(offer, where(peer, offer));
    } catch (RuntimeException e) {
      pair.close();
      throw e;
    }
    return new VerbsSetup(transport, key, peer, rail, pair, offer);
  }

  private static String where(String peer, QpCard card) {
    return "peer " + peer + ", GID " + card.gid() + ", QP 0x" + Integer.toHexString(card.qpNumber());
  }

  @Override
  public byte[] message() {
    return pair.card().encode();
  }

  @Override
  public Connection connect(byte[] peerMessage, BootstrapStream stream) {
    VerbsConnection connection = null;
    try {
      QpCard card = offer;
      if (card == null) {
        card = QpCard.decode(peerMessage);
        pair.connect(card, where(peer, card));
      }
      FileDescriptors.nonBlocking(VerbsContext.channelFd(pair.channel()));
      connection = transport.connection(key, offer == null, peer, rail, pair, card, stream);
      if (offer == null) {
        connection.greet();
      }
      return connection;
    } catch (RuntimeException e) {
      if (connection == null) {
        pair.close();
        stream.close();
      } else {
        connection.close();
      }
      if (e instanceof PathSetupException) {
        throw e;
      }
      throw new PathSetupException("rail " + rail.rail().name() + ": " + e.getMessage(), e);
    }
  }

  @Override
  public void close() {
    pair.close();
  }
}
