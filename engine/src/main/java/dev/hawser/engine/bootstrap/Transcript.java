/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Every frame of one handshake so far, both sides', headers included. A proof covers it, so nothing that was said before
 * can be changed, left out or taken from another handshake: names, epochs, versions, offers and both nonces.
 */
final class Transcript {
  private final ByteArrayOutputStream said = new ByteArrayOutputStream(1024);

  /** Who proves what: no proof can be passed off as another. */
  enum Proof {
    CHALLENGE, AUTH, WELCOME, REFUSE, IDENTITY;

    private byte[] label() {
      return ("hawser bootstrap " + name()).getBytes(StandardCharsets.US_ASCII);
    }
  }

  void add(Frame frame) {
    ByteBuffer bytes = frame.encode();
    said.write(bytes.array(), bytes.arrayOffset(), bytes.limit());
  }

  /**
   * The proof for a frame that is about to be said.
   *
   * @param payload what the frame says before its proof
   */
  byte[] prove(Secret secret, Proof proof, byte[] payload) {
    byte[] before = said.toByteArray();
    byte[] length = ByteBuffer.allocate(Integer.BYTES).putInt(before.length).array();
    return secret.prove(proof.label(), length, before, payload);
  }

  boolean verify(Secret secret, Proof proof, byte[] payload, byte[] given) {
    return Secret.same(prove(secret, proof, payload), given);
  }
}
