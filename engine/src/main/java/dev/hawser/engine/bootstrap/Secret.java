/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** The cluster secret, and the proofs that are made with it. Thread-safe. */
final class Secret {
  /** No secret: proofs are empty. */
  static final Secret NONE = new Secret(new byte[0]);

  private static final String ALGORITHM = "HmacSHA256";

  private final @Nullable SecretKeySpec key;

  Secret(byte[] bytes) {
    this.key = bytes.length == 0 ? null : new SecretKeySpec(bytes, ALGORITHM);
  }

  boolean isSet() {
    return key != null;
  }

  /** HMAC-SHA-256 over all parts, one behind the other; empty if there is no secret. */
  byte[] prove(byte[]... parts) {
    if (key == null) {
      return new byte[0];
    }
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      for (byte[] part : parts) {
        mac.update(part);
      }
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every JDK has " + ALGORITHM, e);
    }
  }

  /** Compares in constant time. */
  static boolean same(byte[] expected, byte[] given) {
    return MessageDigest.isEqual(expected, given);
  }
}
