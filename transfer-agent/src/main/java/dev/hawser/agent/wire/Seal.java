/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.wire;

import dev.hawser.agent.config.Secret;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.zip.CRC32C;

/**
 * The frame around what agents hand to each other, little-endian:
 *
 * <pre>
 *  0  8 bytes   magic
 *  8  u16       version
 * 10  u16       flags; bit 0: signed; the others are 0
 * 12  u32       length of the whole
 * 16  sections  each u16 type, u16 0, u32 length, content; unknown types are skipped
 *     u32       CRC-32C of all bytes before it
 *     32 bytes  HMAC-SHA-256 over the magic and all bytes before it, if signed
 * </pre>
 *
 * @param magic eight ASCII characters
 * @param version of the format
 * @param what for messages, for example {@code metadata blob}
 * @param mostBytes the longest that is read
 */
public record Seal(String magic, int version, String what, int mostBytes) {
  private static final int HEADER = 16;
  private static final int LENGTH = 12;
  private static final int CRC = 4;
  private static final int SIGNED = 1;

  /** Begins a sealed whole: the caller writes its sections behind this. */
  public ByteWriter begin() {
    return new ByteWriter().bytes(magicBytes()).u16(version).u16(0).i32(0);
  }

  /**
   * Ends it.
   *
   * @throws IllegalArgumentException if it is too long
   */
  public byte[] end(ByteWriter writer, Secret secret) {
    long length = (long) writer.position() + CRC + (secret.present() ? HmacSha256.BYTES : 0);
    if (length > mostBytes) {
      throw new IllegalArgumentException(
          "the " + what + " would have " + length + " bytes; at most " + mostBytes + " are allowed");
    }
    writer.patch32(8, version | (secret.present() ? SIGNED << 16 : 0));
    writer.patch32(12, (int) length);
    byte[] body = writer.toBytes();
    writer.i32(crc(body, body.length));
    if (secret.present()) {
      byte[] signed = writer.toBytes();
      writer.bytes(HmacSha256.of(secret.bytes(), magicBytes(), signed, signed.length));
    }
    return writer.toBytes();
  }

  /**
   * How long the whole that begins at an offset says that it is, if so much is there; else all of the rest, which
   * {@link #open} then refuses with the reason.
   */
  public int lengthAt(byte[] bytes, int offset) {
    int rest = bytes.length - offset;
    if (rest < HEADER + CRC) {
      return rest;
    }
    int length = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(offset + LENGTH);
    return length < HEADER + CRC || length > rest ? rest : length;
  }

  /**
   * Checks the frame and gives a reader of its sections.
   *
   * @param source who gave the bytes, for messages
   * @throws MalformedBytesException if anything is wrong, with the reason and the cure
   */
  public ByteReader open(byte[] bytes, Secret secret, String source) {
    if (bytes.length < HEADER + CRC) {
      throw refuse(source, "it has " + bytes.length + " bytes, fewer than any; it was cut short: hand it over whole");
    }
    if (bytes.length > mostBytes) {
      throw refuse(source, "it has " + bytes.length + " bytes; at most " + mostBytes + " are allowed");
    }
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    byte[] start = new byte[magicBytes().length];
    buffer.get(start);
    if (!MessageDigest.isEqual(start, magicBytes())) {
      throw refuse(source, "it does not begin with " + magic + "; these are other bytes, or damaged ones");
    }
    int theirs = buffer.getShort() & 0xffff;
    if (theirs != version) {
      throw refuse(source, "it is of version " + theirs + ", this Hawser reads version " + version
          + "; run the same release on both sides");
    }
    int flags = buffer.getShort() & 0xffff;
    int length = buffer.getInt();
    if (length != bytes.length) {
      throw refuse(source, "it says that it has " + (length & 0xffff_ffffL) + " bytes, but " + bytes.length
          + " are here; it was cut short or run together with something: hand it over whole, and alone");
    }
    if ((flags & ~SIGNED) != 0) {
      throw refuse(source, "it has unknown flags 0x" + Integer.toHexString(flags));
    }
    boolean signed = flags == SIGNED;
    int end = bytes.length - CRC - (signed ? HmacSha256.BYTES : 0);
    if (end < HEADER) {
      throw refuse(source, "it is shorter than its own frame");
    }
    if (crc(bytes, end) != buffer.getInt(end)) {
      throw refuse(source, "its checksum is wrong: it was damaged on the way; hand it over as bytes, not as text");
    }
    checkSignature(bytes, signed, end + CRC, secret, source);
    ByteReader reader = new ByteReader(bytes);
    reader.bytes(HEADER, "header");
    return reader.slice(end - HEADER, "sections");
  }

  private void checkSignature(byte[] bytes, boolean signed, int end, Secret secret, String source) {
    if (signed && !secret.present()) {
      throw refuse(source,
          "it is signed, but this agent has no cluster secret; set HAWSER_SECRET to that of the cluster");
    }
    if (!signed && secret.present()) {
      throw refuse(source, "it is not signed, but this agent has a cluster secret; set the same HAWSER_SECRET there");
    }
    if (signed) {
      byte[] found = java.util.Arrays.copyOfRange(bytes, end, bytes.length);
      if (!MessageDigest.isEqual(found, HmacSha256.of(secret.bytes(), magicBytes(), bytes, end))) {
        throw refuse(source, "its signature does not match: the cluster secrets differ, or it was forged; "
            + "set the same HAWSER_SECRET on both sides");
      }
    }
  }

  /** An exception about the bytes that {@code source} gave. */
  public MalformedBytesException refuse(String source, String reason) {
    return new MalformedBytesException("the " + what + " from " + source + " is refused: " + reason);
  }

  private byte[] magicBytes() {
    return magic.getBytes(StandardCharsets.US_ASCII);
  }

  private static int crc(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }
}
