/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * What has been read of an agent's entry, so that only the rest need be fetched: a length and a digest, not the bytes.
 * Immutable.
 */
public final class KnownBlob {
  private final long epoch;
  private final int length;
  private final MessageDigest digest;

  private KnownBlob(long epoch, int length, MessageDigest digest) {
    this.epoch = epoch;
    this.length = length;
    this.digest = digest;
  }

  /** A whole entry. */
  public static KnownBlob of(long epoch, byte[] blob) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(blob);
      return new KnownBlob(epoch, blob.length, digest);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java has SHA-256", impossible);
    }
  }

  /** This, and what came behind it. */
  public KnownBlob append(byte[] more) {
    MessageDigest longer = copy();
    longer.update(more);
    return new KnownBlob(epoch, length + more.length, longer);
  }

  /** Of which incarnation. */
  public long epoch() {
    return epoch;
  }

  /** Bytes. */
  public int length() {
    return length;
  }

  /** As the service is told of it. */
  String text() {
    return length + " " + HexFormat.of().formatHex(copy().digest());
  }

  private MessageDigest copy() {
    try {
      return (MessageDigest) digest.clone();
    } catch (CloneNotSupportedException impossible) {
      throw new IllegalStateException("the JDK's SHA-256 can be copied", impossible);
    }
  }
}
