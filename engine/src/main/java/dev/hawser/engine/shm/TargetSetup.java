/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.shm.PathSegment.Side;
import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The target's half of a set-up: it joins the initiator's segment. */
final class TargetSetup implements PathSetup {
  private final ShmTransport transport;
  private final PathKey key;
  private final PeerProcess peer;
  private final PathSegment segment;
  private final ShmCalls.Pipe pipe;
  private final int bellFd;
  private final byte[] message;

  private TargetSetup(
      ShmTransport transport,
      PathKey key,
      PeerProcess peer,
      PathSegment segment,
      ShmCalls.Pipe pipe,
      int bellFd,
      byte[] message) {
    this.transport = transport;
    this.key = key;
    this.peer = peer;
    this.segment = segment;
    this.pipe = pipe;
    this.bellFd = bellFd;
    this.message = message;
  }

  /** Verifies who offers, then opens what is offered. */
  static TargetSetup accept(ShmTransport transport, PathKey key, PathOffer offer) {
    Host host = transport.host();
    String obstacle = host.obstacle(offer.identity());
    if (!obstacle.isEmpty()) {
      throw new PathSetupException(obstacle);
    }
    PeerProcess peer = null;
    PathSegment segment = null;
    ShmCalls.Pipe pipe = null;
    try {
      peer = host.watch(offer.identity());
      segment = join(host, peer, offer);
      int bellFd = PeerDescriptors.openBell(host, peer, offer.bellFd());
      pipe = ShmCalls.pipe();
      transport.permit(peer.pid());
      segment.state(Side.TARGET, PathSegment.OPEN);
      return new TargetSetup(
          transport, key, peer, segment, pipe, bellFd, transport.answer(pipe.readEnd()).encode());
    } catch (IOException | RuntimeException e) {
      release(peer, segment, pipe);
      if (e instanceof PathSetupException refused) {
        throw refused;
      }
      throw new PathSetupException("a path from process " + offer.identity().pid() + " is refused: " + e.getMessage(),
          e);
    }
  }

  private static PathSegment join(Host host, PeerProcess peer, PathOffer offer) {
    int fd = PeerDescriptors.open(host, peer, offer.segmentFd(), FileDescriptors.O_RDWR, "the shared segment");
    try {
      PathSegment segment = PathSegment.join(fd, offer.nonceHigh(), offer.nonceLow());
      if (segment == null) {
        throw new PathSetupException(
            "descriptor " + offer.segmentFd() + " of " + peer + " is not the segment that it offers");
      }
      return segment;
    } finally {
      FileDescriptors.close(fd);
    }
  }

  @Override
  public byte[] message() {
    return message.clone();
  }

  @Override
  public Connection connect(byte[] peerMessage, BootstrapStream stream) {
    Bell bell = new Bell(segment, Side.TARGET, pipe, bellFd);
    return transport.connected(new PathEnds(key, Side.TARGET, segment, peer, bell, stream));
  }

  @Override
  public void close() {
    FileDescriptors.close(bellFd);
    release(peer, segment, pipe);
  }

  private static void release(
      @Nullable PeerProcess peer, @Nullable PathSegment segment, ShmCalls.@Nullable Pipe pipe) {
    if (segment != null) {
      segment.state(Side.TARGET, PathSegment.OVER);
      segment.unmap();
    }
    if (pipe != null) {
      FileDescriptors.close(pipe.readEnd());
      FileDescriptors.close(pipe.writeEnd());
    }
    if (peer != null) {
      try {
        peer.close();
      } catch (NativeCallException e) {
        throw new PathSetupException("a path that was given up cannot be closed: " + e.getMessage(), e);
      }
    }
  }
}
