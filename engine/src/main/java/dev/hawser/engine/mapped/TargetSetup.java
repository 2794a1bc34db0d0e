/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.mapped.PathSegment.Side;
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
public final class TargetSetup implements PathSetup {
  private final PathMaker maker;
  private final PathKey key;
  private final PeerProcess peer;
  private final PathSegment segment;
  private final MappedCalls.Pipe pipe;
  private final int bellFd;
  private final byte[] message;

  private TargetSetup(
      PathMaker maker,
      PathKey key,
      PeerProcess peer,
      PathSegment segment,
      MappedCalls.Pipe pipe,
      int bellFd,
      byte[] message) {
    this.maker = maker;
    this.key = key;
    this.peer = peer;
    this.segment = segment;
    this.pipe = pipe;
    this.bellFd = bellFd;
    this.message = message;
  }

  /** Verifies who offers, then opens what is offered. */
  public static TargetSetup accept(PathMaker maker, PathKey key, PathOffer offer) {
    Host host = maker.host();
    String obstacle = host.obstacle(offer.identity());
    if (!obstacle.isEmpty()) {
      throw new PathSetupException(obstacle);
    }
    PeerProcess peer = null;
    PathSegment segment = null;
    MappedCalls.Pipe pipe = null;
    try {
      peer = host.watch(offer.identity());
      segment = join(host, peer, offer);
      int bellFd = PeerDescriptors.openBell(host, peer, offer.bellFd());
      pipe = MappedCalls.pipe();
      maker.permit(peer.pid());
      segment.state(Side.TARGET, PathSegment.OPEN);
      return new TargetSetup(
          maker, key, peer, segment, pipe, bellFd, maker.answer(pipe.readEnd()).encode());
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
    return maker.target(new PathEnds(maker.name(), key, Side.TARGET, segment, peer, bell, stream));
  }

  @Override
  public void close() {
    FileDescriptors.close(bellFd);
    release(peer, segment, pipe);
  }

  private static void release(
      @Nullable PeerProcess peer, @Nullable PathSegment segment, MappedCalls.@Nullable Pipe pipe) {
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
