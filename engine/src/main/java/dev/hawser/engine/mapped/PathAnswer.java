/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.PathSetupException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * What the target answers.
 *
 * @param identity its process
 * @param bellFd its descriptor of the reading end of its pipe
 * @param probeAddress where in its memory {@code probeValue} lies, to try whether the kernel lets us copy it
 * @param probeValue see {@code probeAddress}
 * @param kernelCopies whether it lends memory that cannot be mapped
 */
public record PathAnswer(ProcessIdentity identity, int bellFd, long probeAddress, long probeValue,
    boolean kernelCopies) {
  private static final int MAX_BYTES = 4096;

  public byte[] encode() {
    ByteBuffer to = ProcessIdentity.littleEndian(new byte[MAX_BYTES]);
    identity.encode(to);
    to.putInt(bellFd).putLong(probeAddress).putLong(probeValue).put((byte) (kernelCopies ? 1 : 0));
    return ProcessIdentity.toBytes(to);
  }

  public static PathAnswer decode(byte[] bytes) {
    ByteBuffer from = ProcessIdentity.littleEndian(bytes);
    try {
      return new PathAnswer(
          ProcessIdentity.decode(from), from.getInt(), from.getLong(), from.getLong(), from.get() != 0);
    } catch (BufferUnderflowException e) {
      throw new PathSetupException("the target's answer for a shm path is cut off", e);
    }
  }
}
