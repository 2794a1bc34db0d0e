/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.wire;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * HMAC-SHA-256 on {@link MessageDigest}, which is there from the first instruction on, whereas the first {@code
 * javax.crypto.Mac} costs a process tens of milliseconds.
 *
 * @see <a href="https://www.rfc-editor.org/rfc/rfc2104">RFC 2104</a>
 */
final class HmacSha256 {
  static final int BYTES = 32;
  private static final int BLOCK = 64;

  private HmacSha256() {}

  static byte[] of(byte[] key, byte[] label, byte[] message, int length) {
    MessageDigest sha = sha256();
    byte[] block = Arrays.copyOf(key.length > BLOCK ? sha.digest(key) : key, BLOCK);
    byte[] pad = new byte[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
      pad[i] = (byte) (block[i] ^ 0x36);
    }
    sha.update(pad);
    sha.update(label);
    sha.update(message, 0, length);
    byte[] inner = sha.digest();
    for (int i = 0; i < BLOCK; i++) {
      pad[i] = (byte) (block[i] ^ 0x5c);
    }
    sha.update(pad);
    return sha.digest(inner);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform must have SHA-256, this one has not", e);
    }
  }
}
