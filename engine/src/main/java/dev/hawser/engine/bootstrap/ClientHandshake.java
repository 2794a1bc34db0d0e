/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.PathFault;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;

/**
 * The initiator's side: first words, CHALLENGE, AUTH, and the target's last word. HELLO and PROBE differ only in the
 * first and in the last. Loop thread only.
 */
final class ClientHandshake extends Handshake {

  /** How it ended; exactly one is reported. */
  sealed interface Outcome {
    /** The target's last word, its proof checked; the handshake has let the socket go. */
    @SuppressWarnings("ArrayRecordComponent") // the transport's bytes; never compared
    record Welcomed(Welcome welcome, byte[] answer, HandedStream stream) implements Outcome {}

    /** The target said who it is. */
    record Identified(Identity identity) implements Outcome {}

    /** One side refused. */
    record Refused(Refusal refusal) implements Outcome {}

    /** The connection failed, or brought something else than the protocol. */
    record Broken(PathFault fault) implements Outcome {}
  }

  private final Frame first;
  private final Consumer<Outcome> outcome;
  private boolean authenticated;
  private long capabilities;

  ClientHandshake(BootstrapContext context, FrameChannel channel, Frame first, Consumer<Outcome> outcome) {
    super(context, channel);
    this.first = first;
    this.outcome = outcome;
  }

  @Override
  void established() {
    send(first);
  }

  @Override
  void received(Frame frame) throws MalformedFrameException {
    switch (frame.type()) {
      case REFUSE -> refused(Messages.RefuseMessage.decode(frame));
      case CHALLENGE -> challenged(frame);
      case WELCOME -> welcomed(frame);
      case IDENTITY -> identified(frame);
      case HELLO, PROBE, AUTH -> throw new MalformedFrameException(frame.type() + " from a target");
    }
  }

  private void challenged(Frame frame) throws MalformedFrameException {
    if (authenticated) {
      throw new MalformedFrameException("a second CHALLENGE");
    }
    Messages.Challenge challenge = Messages.Challenge.decode(frame);
    if (challenge.version() < Messages.MIN_VERSION || challenge.version() > Messages.MAX_VERSION) {
      throw new MalformedFrameException("CHALLENGE chose version " + challenge.version() + ", which was not offered");
    }
    boolean ours = context.secret().isSet();
    if (ours != challenge.secret()) {
      refuse(ours
          ? "the agent at " + channel.description() + " has no secret, but this one has: set the same on both"
          : "the agent at " + channel.description() + " has a secret, but this one has none: set the same on both");
      return;
    }
    if (!transcript.verify(context.secret(), Transcript.Proof.CHALLENGE, challenge.proven(), challenge.mac())) {
      refuse("the agent at " + channel.description() + " has another secret: set the same on both");
      return;
    }
    transcript.add(frame);
    authenticated = true;
    capabilities = challenge.capabilities() & Messages.CAPABILITIES;
    send(Messages.auth(transcript.prove(context.secret(), Transcript.Proof.AUTH, new byte[0])));
  }

  private void refuse(String reason) {
    Refusal refusal = new Refusal(Refusal.Code.AUTHENTICATION, reason);
    sayAndClose(
        Messages.RefuseMessage.of(
            new Refusal(
                Refusal.Code.AUTHENTICATION,
                "agent " + context.identity().name() + " has another secret, or only one side has one"))
            .encode());
    outcome.accept(new Outcome.Refused(refusal));
  }

  private void welcomed(Frame frame) throws MalformedFrameException {
    if (!authenticated || first.type() != FrameType.HELLO) {
      throw new MalformedFrameException("WELCOME out of turn");
    }
    Messages.WelcomeMessage message = Messages.WelcomeMessage.decode(frame);
    byte[] proven = Messages.WelcomeMessage.proven(message.welcome(), message.answer());
    if (!transcript.verify(context.secret(), Transcript.Proof.WELCOME, proven, message.mac())) {
      throw new MalformedFrameException("the WELCOME's proof is wrong: something between the agents changed it");
    }
    if (!channel.isAtBoundary()) {
      throw new MalformedFrameException("a TLS record goes on behind the WELCOME");
    }
    HandedStream stream = new HandedStream(channel);
    handOver();
    outcome.accept(new Outcome.Welcomed(message.welcome().withCapabilities(capabilities), message.answer(), stream));
  }

  private void identified(Frame frame) throws MalformedFrameException {
    if (!authenticated || first.type() != FrameType.PROBE) {
      throw new MalformedFrameException("IDENTITY out of turn");
    }
    Messages.IdentityMessage message = Messages.IdentityMessage.decode(frame);
    byte[] proven = Messages.IdentityMessage.proven(message.identity());
    if (!transcript.verify(context.secret(), Transcript.Proof.IDENTITY, proven, message.mac())) {
      throw new MalformedFrameException("the IDENTITY's proof is wrong: something between the agents changed it");
    }
    end();
    outcome.accept(new Outcome.Identified(message.identity()));
  }

  private void refused(Messages.RefuseMessage message) throws MalformedFrameException {
    Refusal refusal = message.refusal();
    byte[] proven = Messages.RefuseMessage.proven(refusal);
    boolean believable =
        authenticated
            ? transcript.verify(context.secret(), Transcript.Proof.REFUSE, proven, message.mac())
            : !context.secret().isSet() || mayComeUnproven(refusal.code());
    if (!believable) {
      throw new MalformedFrameException("a refusal without proof, not believed: " + refusal.message());
    }
    end();
    outcome.accept(new Outcome.Refused(refusal));
  }

  /** Where the secrets differ nothing can be proven; a peer that is too busy has not got that far. */
  private static boolean mayComeUnproven(Refusal.Code code) {
    return code == Refusal.Code.VERSION || code == Refusal.Code.AUTHENTICATION || code == Refusal.Code.BUSY;
  }

  @Override
  void broken(PathFault fault) {
    outcome.accept(new Outcome.Broken(fault));
  }

  @Override
  void untrusted(SSLException e) {
    String message = channel.description() + ": TLS: " + e.getMessage();
    end();
    if (e instanceof SSLHandshakeException) {
      outcome.accept(new Outcome.Refused(new Refusal(Refusal.Code.AUTHENTICATION, message)));
    } else {
      outcome.accept(new Outcome.Broken(new PathFault(PathFault.Kind.PROTOCOL, message)));
    }
  }
}
