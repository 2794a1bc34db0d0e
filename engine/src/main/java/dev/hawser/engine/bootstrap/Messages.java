/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.wire.Capabilities;
import java.util.Arrays;

/** The frames' contents: see docs/protocol-bootstrap.md. Arrays in these records are not changed by anyone. */
final class Messages {
  /** The versions of the protocol that this code speaks. */
  static final int MIN_VERSION = 1;

  static final int MAX_VERSION = 1;

  /** Optional features that this code has, a bit each. */
  static final long CAPABILITIES = Capabilities.ALL;

  static final int MAX_NAME_BYTES = 255;
  static final int MAX_OFFER_BYTES = 4096;
  static final int MAX_REASON_BYTES = 1024;
  static final int NONCE_BYTES = 32;
  static final int MAC_BYTES = 32;

  private static final byte[] NO_MAC = {};
  private static final int FLAG_SECRET = 1;

  private Messages() {}

  /**
   * The initiator's first words, common to HELLO and PROBE.
   *
   * @param minVersion lowest protocol version spoken
   * @param maxVersion highest
   * @param capabilities of the initiator
   * @param secret whether the initiator has a secret
   * @param nonce fresh random bytes
   */
  @SuppressWarnings("ArrayRecordComponent")
  record Opening(int minVersion, int maxVersion, long capabilities, boolean secret, byte[] nonce) {

    static Opening ours(boolean secret, byte[] nonce) {
      return new Opening(MIN_VERSION, MAX_VERSION, CAPABILITIES, secret, nonce);
    }

    void write(PayloadWriter out) {
      out.u16(minVersion).u16(maxVersion).u64(capabilities).u8(secret ? FLAG_SECRET : 0).raw(nonce);
    }

    static Opening read(PayloadReader in) throws MalformedFrameException {
      int min = in.u16("version");
      int max = in.u16("version");
      return new Opening(min, max, in.u64("capabilities"), readSecretFlag(in), in.raw(NONCE_BYTES, "nonce"));
    }

    /** The highest version that both speak; 0 if there is none. */
    int commonVersion() {
      int common = Math.min(maxVersion, MAX_VERSION);
      return common >= Math.max(minVersion, MIN_VERSION) ? common : 0;
    }
  }

  private static boolean readSecretFlag(PayloadReader in) throws MalformedFrameException {
    int flags = in.u8("flags");
    if ((flags & ~FLAG_SECRET) != 0) {
      throw new MalformedFrameException("flags 0x" + Integer.toHexString(flags) + " are not known");
    }
    return flags != 0;
  }

  /** HELLO. */
  @SuppressWarnings("ArrayRecordComponent")
  record HelloMessage(Opening opening, Hello hello, byte[] offer) {
    Frame encode() {
      PayloadWriter out = new PayloadWriter();
      opening.write(out);
      out.text(hello.initiator(), MAX_NAME_BYTES, "the initiator's name")
          .u64(hello.initiatorEpoch())
          .text(hello.target(), MAX_NAME_BYTES, "the target's name")
          .u64(hello.targetEpoch())
          .u32(hello.session())
          .u64(hello.firstTransfer())
          .u16(hello.key().path())
          .u16(hello.key().generation())
          .text(hello.transport(), MAX_NAME_BYTES, "the transport's name")
          .text(hello.remoteRail(), MAX_NAME_BYTES, "the rail's name")
          .bytes(offer, MAX_OFFER_BYTES, "the transport's offer");
      return new Frame(FrameType.HELLO, out.done());
    }

    /** What follows the opening; bytes behind the known fields are a newer version's. */
    static HelloMessage decode(Opening opening, PayloadReader in) throws MalformedFrameException {
      Hello hello =
          new Hello(
              in.text(MAX_NAME_BYTES, "the initiator's name"),
              in.u64("the initiator's epoch"),
              in.text(MAX_NAME_BYTES, "the target's name"),
              in.u64("the target's epoch"),
              in.u32("the session"),
              in.u64("the first transfer"),
              new PathKey(in.u16("the path"), in.u16("the generation")),
              in.text(MAX_NAME_BYTES, "the transport's name"),
              in.text(MAX_NAME_BYTES, "the rail's name"));
      return new HelloMessage(opening, hello, in.bytes(MAX_OFFER_BYTES, "the transport's offer"));
    }
  }

  /** PROBE: an opening alone. */
  static Frame probe(Opening opening) {
    PayloadWriter out = new PayloadWriter();
    opening.write(out);
    return new Frame(FrameType.PROBE, out.done());
  }

  /**
   * CHALLENGE.
   *
   * @param version the protocol version that holds from here on
   * @param capabilities those of both sides
   * @param secret whether the target has a secret
   * @param nonce the target's fresh random bytes
   * @param mac proof that the target knows the secret; empty without one
   */
  @SuppressWarnings("ArrayRecordComponent")
  record Challenge(int version, long capabilities, boolean secret, byte[] nonce, byte[] mac) {
    byte[] proven() {
      return new PayloadWriter().u16(version).u64(capabilities).u8(secret ? FLAG_SECRET : 0).raw(nonce).done();
    }

    Frame encode() {
      return sealed(FrameType.CHALLENGE, proven(), mac);
    }

    static Challenge decode(Frame frame) throws MalformedFrameException {
      PayloadReader in = new PayloadReader(frame);
      Challenge challenge =
          new Challenge(
              in.u16("version"), in.u64("capabilities"), readSecretFlag(in), in.raw(NONCE_BYTES, "nonce"), readMac(in));
      in.end();
      return challenge;
    }
  }

  /** AUTH: the initiator's proof alone. */
  static Frame auth(byte[] mac) {
    return sealed(FrameType.AUTH, NO_MAC, mac);
  }

  static byte[] decodeAuth(Frame frame) throws MalformedFrameException {
    PayloadReader in = new PayloadReader(frame);
    byte[] mac = readMac(in);
    in.end();
    return mac;
  }

  /** WELCOME. */
  @SuppressWarnings("ArrayRecordComponent")
  record WelcomeMessage(Welcome welcome, byte[] answer, byte[] mac) {
    static byte[] proven(Welcome welcome, byte[] answer) {
      return new PayloadWriter()
          .u64(welcome.targetEpoch())
          .u32(welcome.session())
          .u32(welcome.leaseMillis())
          .u32(welcome.notificationLimit())
          .bytes(answer, MAX_OFFER_BYTES, "the transport's answer")
          .done();
    }

    Frame encode() {
      return sealed(FrameType.WELCOME, proven(welcome, answer), mac);
    }

    static WelcomeMessage decode(Frame frame) throws MalformedFrameException {
      PayloadReader in = new PayloadReader(frame);
      Welcome welcome = new Welcome(in.u64("epoch"), in.u32("session"), in.u32("lease"), in.u32("credits"), 0);
      WelcomeMessage message =
          new WelcomeMessage(welcome, in.bytes(MAX_OFFER_BYTES, "the transport's answer"), readMac(in));
      in.end();
      return message;
    }
  }

  /** REFUSE; the proof is empty before the sides have proven themselves. */
  @SuppressWarnings("ArrayRecordComponent")
  record RefuseMessage(Refusal refusal, byte[] mac) {
    static byte[] proven(Refusal refusal) {
      String message = refusal.message();
      // One character may take three bytes: a long reason is cut, not refused.
      String cut = message.length() > MAX_REASON_BYTES / 3 ? message.substring(0, MAX_REASON_BYTES / 3) : message;
      return new PayloadWriter().u16(refusal.code().number()).text(cut, MAX_REASON_BYTES, "the reason").done();
    }

    static RefuseMessage of(Refusal refusal) {
      return new RefuseMessage(refusal, NO_MAC);
    }

    Frame encode() {
      return sealed(FrameType.REFUSE, proven(refusal), mac);
    }

    static RefuseMessage decode(Frame frame) throws MalformedFrameException {
      PayloadReader in = new PayloadReader(frame);
      int number = in.u16("the code");
      Refusal refusal = new Refusal(code(number), printable(in.text(MAX_REASON_BYTES, "the reason")));
      RefuseMessage message = new RefuseMessage(refusal, readMac(in));
      in.end();
      return message;
    }

    private static Refusal.Code code(int number) throws MalformedFrameException {
      for (Refusal.Code code : Refusal.Code.values()) {
        if (code.number() == number) {
          return code;
        }
      }
      throw new MalformedFrameException("REFUSE: code " + number + " is not known");
    }
  }

  /** IDENTITY. */
  @SuppressWarnings("ArrayRecordComponent")
  record IdentityMessage(Identity identity, byte[] mac) {
    static byte[] proven(Identity identity) {
      return new PayloadWriter()
          .text(identity.name(), MAX_NAME_BYTES, "the agent's name")
          .u64(identity.epoch())
          .text(identity.host(), MAX_NAME_BYTES, "the host's name")
          .u64(identity.pid())
          .done();
    }

    Frame encode() {
      return sealed(FrameType.IDENTITY, proven(identity), mac);
    }

    static IdentityMessage decode(Frame frame) throws MalformedFrameException {
      PayloadReader in = new PayloadReader(frame);
      Identity identity =
          new Identity(
              printable(in.text(MAX_NAME_BYTES, "the agent's name")),
              in.u64("the epoch"),
              printable(in.text(MAX_NAME_BYTES, "the host's name")),
              in.u64("the pid"));
      IdentityMessage message = new IdentityMessage(identity, readMac(in));
      in.end();
      return message;
    }
  }

  /** A payload with its proof behind it: a length byte, 0 or 32, then the bytes. */
  private static Frame sealed(FrameType type, byte[] proven, byte[] mac) {
    byte[] payload = Arrays.copyOf(proven, proven.length + 1 + mac.length);
    payload[proven.length] = (byte) mac.length;
    System.arraycopy(mac, 0, payload, proven.length + 1, mac.length);
    return new Frame(type, payload);
  }

  private static byte[] readMac(PayloadReader in) throws MalformedFrameException {
    int length = in.u8("the proof");
    if (length != 0 && length != MAC_BYTES) {
      throw new MalformedFrameException("a proof of " + length + " bytes; it has " + MAC_BYTES + ", or none");
    }
    return in.raw(length, "the proof");
  }

  /** A peer's words end up in our log: nothing that could forge a line of it. */
  static String printable(String text) {
    StringBuilder out = new StringBuilder(text.length());
    text.codePoints().forEach(
        c -> out.appendCodePoint(Character.isISOControl(c) || Character.getType(c) == Character.FORMAT ? '?' : c));
    return out.toString();
  }
}
