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
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/** The initiator's half of a set-up: it makes the shared segment. */
public final class InitiatorSetup implements PathSetup {
  private static final SecureRandom RANDOM = new SecureRandom();

  private final PathMaker maker;
  private final PathKey key;
  private final int segmentFd;
  private final PathSegment segment;
  private final MappedCalls.Pipe pipe;
  private final byte[] message;

  /**
   * Makes the segment.
   *
   * @throws PathSetupException if Linux refuses
   */
  public InitiatorSetup(PathMaker maker, PathKey key) {
    this.maker = maker;
    this.key = key;
    long high = RANDOM.nextLong();
    long low = RANDOM.nextLong();
    try {
      this.segmentFd = PathSegment.createFile();
      this.segment = PathSegment.initialise(segmentFd, high, low);
      this.pipe = MappedCalls.pipe();
    } catch (NativeCallException e) {
      throw new PathSetupException("a shared segment cannot be made: " + e.getMessage(), e);
    }
    this.message = new PathOffer(maker.host().self(), segmentFd, pipe.readEnd(), high, low).encode();
  }

  @Override
  public byte[] message() {
    return message.clone();
  }

  @Override
  public Connection connect(byte[] peerMessage, BootstrapStream stream) {
    PeerProcess peer = null;
    try {
      Host host = maker.host();
      PathAnswer answer = PathAnswer.decode(peerMessage);
      String obstacle = host.obstacle(answer.identity());
      if (!obstacle.isEmpty()) {
        throw new PathSetupException(obstacle);
      }
      peer = host.watch(answer.identity());
      maker.verify(answer);
      int bellFd = PeerDescriptors.openBell(host, peer, answer.bellFd());
      Bell bell = new Bell(segment, Side.INITIATOR, pipe, bellFd);
      PathEnds ends = new PathEnds(maker.name(), key, Side.INITIATOR, segment, peer, bell, stream);
      Connection connection = maker.initiator(ends);
      FileDescriptors.close(segmentFd); // the target opened it before it answered
      return connection;
    } catch (IOException e) {
      abandon(peer, stream);
      throw new PathSetupException("the target's " + e.getMessage(), e);
    } catch (NativeCallException e) {
      abandon(peer, stream);
      throw new PathSetupException("the target's process cannot be reached: " + e.getMessage(), e);
    } catch (RuntimeException e) {
      abandon(peer, stream);
      throw e;
    }
  }

  private void abandon(@Nullable PeerProcess peer, BootstrapStream stream) {
    if (peer != null) {
      peer.close();
    }
    stream.close();
    close();
  }

  @Override
  public void close() {
    segment.state(Side.INITIATOR, PathSegment.OVER);
    segment.unmap();
    FileDescriptors.close(segmentFd);
    FileDescriptors.close(pipe.readEnd());
    FileDescriptors.close(pipe.writeEnd());
  }
}
