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
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.security.SecureRandom;
import org.jspecify.annotations.Nullable;

/** The initiator's half of a set-up: it makes the shared segment. */
final class InitiatorSetup implements PathSetup {
  private static final SecureRandom RANDOM = new SecureRandom();

  private final Host host;
  private final PathKey key;
  private final boolean kernelCopies;
  private final Populator populator;
  private final int segmentFd;
  private final PathSegment segment;
  private final ShmCalls.Pipe pipe;
  private final byte[] message;

  InitiatorSetup(Host host, PathKey key, boolean kernelCopies, Populator populator) {
    this.host = host;
    this.populator = populator;
    this.key = key;
    this.kernelCopies = kernelCopies;
    long high = RANDOM.nextLong();
    long low = RANDOM.nextLong();
    try {
      this.segmentFd = PathSegment.createFile();
      this.segment = PathSegment.initialise(segmentFd, high, low);
      this.pipe = ShmCalls.pipe();
    } catch (NativeCallException e) {
      throw new PathSetupException("a shared segment cannot be made: " + e.getMessage(), e);
    }
    this.message = new PathOffer(host.self(), segmentFd, pipe.readEnd(), high, low).encode();
  }

  @Override
  public byte[] message() {
    return message.clone();
  }

  @Override
  public Connection connect(byte[] peerMessage, BootstrapStream stream) {
    PeerProcess peer = null;
    try {
      PathAnswer answer = PathAnswer.decode(peerMessage);
      String obstacle = host.obstacle(answer.identity());
      if (!obstacle.isEmpty()) {
        throw new PathSetupException(obstacle);
      }
      peer = host.watch(answer.identity());
      if (kernelCopies && answer.kernelCopies()) {
        probe(answer);
      }
      int bellFd = PeerDescriptors.openBell(host, peer, answer.bellFd());
      Bell bell = new Bell(segment, Side.INITIATOR, pipe, bellFd);
      PathEnds ends = new PathEnds(key, Side.INITIATOR, segment, peer, bell, stream);
      Connection connection = new InitiatorConnection(ends, host.proc(), HostDeviceOps.INSTANCE, populator);
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

  /** Tries what every later copy needs, on a word whose value the target told us. */
  private void probe(PathAnswer answer) {
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
