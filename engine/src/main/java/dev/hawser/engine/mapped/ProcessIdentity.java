/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.PathSetupException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * Which process an agent is, as other processes of its host can verify.
 *
 * @param bootId the kernel's, new with every boot: names the host
 * @param pidNamespace in which {@code pid} counts, for example {@code pid:[4026531836]}
 * @param userNamespace in which {@code uid} counts
 * @param timeNamespace in which {@code startTicks} counts; empty on kernels without
 * @param pid process id
 * @param startTicks when it began, in clock ticks since boot
 * @param uid the user that it runs as
 * @param copies whether process_vm_readv works there
 */
public record ProcessIdentity(
    String bootId,
    String pidNamespace,
    String userNamespace,
    String timeNamespace,
    int pid,
    long startTicks,
    int uid,
    boolean copies) {
  private static final byte VERSION = 1;

  public ProcessIdentity {
    Objects.requireNonNull(bootId, "bootId");
    Objects.requireNonNull(pidNamespace, "pidNamespace");
    Objects.requireNonNull(userNamespace, "userNamespace");
    Objects.requireNonNull(timeNamespace, "timeNamespace");
  }

  public void encode(ByteBuffer to) {
    to.put(VERSION);
    put(to, bootId);
    put(to, pidNamespace);
    put(to, userNamespace);
    put(to, timeNamespace);
    to.putInt(pid).putLong(startTicks).putInt(uid).put((byte) (copies ? 1 : 0));
  }

  /**
   * Reads what {@link #encode} wrote.
   *
   * @throws PathSetupException if it is damaged or of another version
   */
  public static ProcessIdentity decode(ByteBuffer from) {
    return new Decoder(from).identity();
  }

  public static ByteBuffer littleEndian(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** What was put into {@code written}. */
  public static byte[] toBytes(ByteBuffer written) {
    byte[] bytes = new byte[written.position()];
    written.get(0, bytes);
    return bytes;
  }

  private static void put(ByteBuffer to, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    to.putShort((short) bytes.length).put(bytes);
  }

  private record Decoder(ByteBuffer from) {
    ProcessIdentity identity() {
      try {
        byte version = from.get();
        if (version != VERSION) {
          throw new PathSetupException(
              "the peer describes its process in version " + version + ", this side knows " + VERSION);
        }
        return new ProcessIdentity(
            text(), text(), text(), text(), from.getInt(), from.getLong(), from.getInt(), from.get() != 0);
      } catch (BufferUnderflowException e) {
        throw new PathSetupException("the peer's description of its process is cut off", e);
      }
    }

    private String text() {
      byte[] bytes = new byte[Short.toUnsignedInt(from.getShort())];
      from.get(bytes);
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }
}
