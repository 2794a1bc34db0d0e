/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;

/** The cluster secret. It never prints itself. */
public final class Secret {
  /** No secret: nothing is signed and nobody is authenticated. */
  public static final Secret NONE = new Secret(new byte[0]);

  private final byte[] bytes;

  private Secret(byte[] bytes) {
    this.bytes = bytes;
  }

  /** A secret of these bytes, which are copied. */
  public static Secret of(byte[] bytes) {
    return bytes.length == 0 ? NONE : new Secret(bytes.clone());
  }

  /** A secret of the UTF-8 bytes of {@code text}. */
  public static Secret of(String text) {
    return text.isEmpty() ? NONE : new Secret(text.getBytes(StandardCharsets.UTF_8));
  }

  /** A copy of the bytes; empty if there is no secret. */
  public byte[] bytes() {
    return bytes.clone();
  }

  /** Whether there is a secret. */
  public boolean present() {
    return bytes.length != 0;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Secret secret && MessageDigest.isEqual(bytes, secret.bytes);
  }

  @Override
  public int hashCode() {
    return Boolean.hashCode(present());
  }

  @Override
  public String toString() {
    return present() ? "(set)" : "(none)";
  }
}
