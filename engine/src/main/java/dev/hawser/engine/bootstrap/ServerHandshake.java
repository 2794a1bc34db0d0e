/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Transport;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The target's side of one accepted connection. On the loop's thread, but for what is said to run on the pool. */
final class ServerHandshake extends Handshake {

  private enum Step {
    OPENING, AUTH, DECIDING, WELCOMING, DONE
  }

  private final Acceptor acceptor;
  private final String address;
  private final byte[] nonce;

  private Step step = Step.OPENING;
  private boolean counted = true;
  private Messages.@Nullable HelloMessage hello;
  private @Nullable Reply reply;
  private @Nullable Accepted accepted;

  /** What was promised to the initiator and prepared for it. */
  private record Accepted(Welcome welcome, PathSetup setup) {}

  /**
   * Begins with the initiator's first word.
   *
   * @param address where it comes from, without its port
   */
  ServerHandshake(BootstrapContext context, FrameChannel channel, String address, Acceptor acceptor) {
    super(context, channel);
    this.address = address;
    this.acceptor = acceptor;
    this.nonce = acceptor.newNonce();
  }

  String address() {
    return address;
  }

  @Override
  void established() {}

  @Override
  void spoken() {
    restartClock(context.limits().handshake().toNanos());
  }

  /** Ends it in favour of another. */
  void giveWay() {
    String said = isSilent() ? "it has said nothing" : "its address has more of them than others";
    end();
    broken(
        new PathFault(
            PathFault.Kind.ABORTED,
            channel.description() + ": too many handshakes are under way, and " + said + ": it gives way to another"));
  }

  @Override
  void received(Frame frame) throws MalformedFrameException {
    switch (step) {
      case OPENING -> opened(frame);
      case AUTH -> proven(frame);
      case DECIDING, WELCOMING, DONE -> throw new MalformedFrameException(frame.type() + " out of turn");
    }
  }

  private void opened(Frame frame) throws MalformedFrameException {
    if (frame.type() != FrameType.HELLO && frame.type() != FrameType.PROBE) {
      throw new MalformedFrameException(frame.type() + " as the first frame");
    }
    PayloadReader in = new PayloadReader(frame);
    Messages.Opening opening = Messages.Opening.read(in);
    int version = opening.commonVersion();
    if (version == 0) {
      refuse(
          Refusal.Code.VERSION,
          "agent %s speaks protocol versions %d to %d, the initiator %d to %d: update the older one"
              .formatted(
                  context.identity().name(),
                  Messages.MIN_VERSION,
                  Messages.MAX_VERSION,
                  opening.minVersion(),
                  opening.maxVersion()));
      return;
    }
    String who = "a prober";
    if (frame.type() == FrameType.HELLO) {
      Messages.HelloMessage message = Messages.HelloMessage.decode(opening, in);
      hello = message;
      who = "agent " + Messages.printable(message.hello().initiator());
    }
    boolean ours = context.secret().isSet();
    if (ours != opening.secret()) {
      String us = "agent " + context.identity().name();
      refuse(
          Refusal.Code.AUTHENTICATION,
          (ours ? us + " has a secret, but " + who + " has none" : who + " has a secret, but " + us + " has none")
              + ": set the same on both");
      return;
    }
    transcript.add(frame);
    Messages.Challenge challenge =
        new Messages.Challenge(version, opening.capabilities() & Messages.CAPABILITIES, ours, nonce, new byte[0]);
    byte[] mac = transcript.prove(context.secret(), Transcript.Proof.CHALLENGE, challenge.proven());
    send(
        new Messages.Challenge(version, challenge.capabilities(), ours, nonce, mac)
            .encode());
    step = Step.AUTH;
  }

  private void proven(Frame frame) throws MalformedFrameException {
    if (frame.type() == FrameType.REFUSE) {
      Refusal refusal = Messages.RefuseMessage.decode(frame).refusal();
      String line = channel.description() + ": the initiator ended the handshake: " + refusal.message();
      context.log().warn(line);
      end();
      ended();
      return;
    }
    if (frame.type() != FrameType.AUTH) {
      throw new MalformedFrameException(frame.type() + " instead of AUTH");
    }
    byte[] mac = Messages.decodeAuth(frame);
    if (!transcript.verify(context.secret(), Transcript.Proof.AUTH, new byte[0], mac)) {
      refuse(Refusal.Code.AUTHENTICATION, "the initiator's proof is wrong: set the same secret on both");
      return;
    }
    transcript.add(frame);
    stopClock();
    uncount();
    Messages.HelloMessage message = hello;
    if (message == null) {
      Identity identity = context.identity();
      byte[] proof =
          transcript.prove(context.secret(), Transcript.Proof.IDENTITY, Messages.IdentityMessage.proven(identity));
      sayAndClose(new Messages.IdentityMessage(identity, proof).encode());
      ended();
      return;
    }
    decide(message);
  }

  private void decide(Messages.HelloMessage message) {
    Hello h = message.hello();
    Identity us = context.identity();
    if (!h.target().equals(us.name()) || (h.targetEpoch() != 0 && h.targetEpoch() != us.epoch())) {
      refuse(
          Refusal.Code.WRONG_AGENT,
          "this is agent %s, epoch %s, not %s, epoch %s: the metadata is out of date"
              .formatted(
                  us.name(),
                  Long.toUnsignedString(us.epoch()),
                  h.target(),
                  Long.toUnsignedString(h.targetEpoch())));
      return;
    }
    Acceptor.Service service = acceptor.service();
    if (service == null) {
      refuse(Refusal.Code.BUSY, "agent " + us.name() + " is still starting");
      return;
    }
    Transport transport = service.transports().get(h.transport());
    if (transport == null) {
      refuse(
          Refusal.Code.TRANSPORT,
          "agent %s has no transport %s, only %s"
              .formatted(us.name(), h.transport(), String.join(", ", service.transports().keySet())));
      return;
    }
    if (transport.rails().stream().noneMatch(rail -> rail.name().equals(h.remoteRail()))) {
      refuse(
          Refusal.Code.TRANSPORT,
          "agent %s has no rail %s of %s, only %s"
              .formatted(
                  us.name(),
                  h.remoteRail(),
                  h.transport(),
                  transport.rails().stream().map(Rail::name).collect(Collectors.joining(", "))));
      return;
    }
    step = Step.DECIDING;
    Reply once = new Reply(service, transport, message);
    reply = once;
    onPool(() -> service.handler().hello(h, once));
  }

  /** The handler's answer; counts the first only. */
  private final class Reply implements HelloReply {
    private final Acceptor.Service service;
    private final Transport transport;
    private final Messages.HelloMessage message;
    private final AtomicBoolean used = new AtomicBoolean();

    Reply(Acceptor.Service service, Transport transport, Messages.HelloMessage message) {
      this.service = service;
      this.transport = transport;
      this.message = message;
    }

    @Override
    public void welcome(Welcome welcome) {
      once();
      onPoolOr(
          () -> prepare(welcome),
          () -> {
            abandon(welcome);
            refuseLater(Refusal.Code.BUSY, "agent " + context.identity().name() + " is busy");
          });
    }

    @Override
    public void refuse(Refusal refusal) {
      once();
      refuseLater(refusal.code(), refusal.message());
    }

    private void refuseLater(Refusal.Code code, String why) {
      context.loop().execute(() -> {
        if (!isOver()) {
          ServerHandshake.this.refuse(code, why);
        }
      });
    }

    private void once() {
      if (!used.compareAndSet(false, true)) {
        throw new IllegalStateException("this HELLO was answered before: " + message.hello());
      }
    }

    /** On the pool. */
    private void prepare(Welcome welcome) {
      PathSetup setup;
      try {
        setup =
            transport.accept(
                message.hello().remoteRail(), message.hello().initiator(), message.hello().key(), message.offer());
      } catch (PathSetupException e) {
        abandon(welcome);
        refuseLater(Refusal.Code.TRANSPORT, String.valueOf(e.getMessage()));
        return;
      } catch (RuntimeException e) {
        LimitedLog.bug("transport " + transport.name() + " failed to accept " + message.hello(), e);
        abandon(welcome);
        refuseLater(Refusal.Code.TRANSPORT, "transport " + transport.name() + " failed: " + e);
        return;
      }
      Accepted prepared = new Accepted(welcome, setup);
      if (!context.loop().execute(() -> sendWelcome(prepared))) {
        drop(prepared);
      }
    }

    /** On the pool, or wherever there is none any more. */
    private void abandon(Welcome welcome) {
      service.handler().abandoned(message.hello(), welcome);
    }

    private void drop(Accepted prepared) {
      prepared.setup().close();
      abandon(prepared.welcome());
    }

    private void sendWelcome(Accepted prepared) {
      if (isOver()) {
        onPoolOr(() -> drop(prepared), () -> drop(prepared));
        return;
      }
      byte[] proven = Messages.WelcomeMessage.proven(prepared.welcome(), prepared.setup().message());
      byte[] mac = transcript.prove(context.secret(), Transcript.Proof.WELCOME, proven);
      accepted = prepared;
      step = Step.WELCOMING;
      // The initiator's next byte is the transport's.
      pause();
      send(new Messages.WelcomeMessage(prepared.welcome(), prepared.setup().message(), mac).encode());
      restartClock(context.limits().handshake().toNanos());
      ready();
    }

    /** On the pool. */
    private void connect(Accepted prepared, HandedStream stream) {
      Connection connection;
      try {
        connection = prepared.setup().connect(message.offer(), stream);
      } catch (RuntimeException e) {
        stream.close();
        context.loop().execute(() -> context.log().warn(stream.description() + ": " + e));
        abandon(prepared.welcome());
        return;
      }
      service.handler().connected(message.hello(), prepared.welcome(), connection);
    }
  }

  @Override
  void flushed() {
    Accepted prepared = accepted;
    Reply answer = reply;
    if (step == Step.WELCOMING && prepared != null && answer != null) {
      step = Step.DONE;
      accepted = null;
      HandedStream stream = new HandedStream(channel);
      handOver();
      ended();
      onPoolOr(
          () -> answer.connect(prepared, stream),
          () -> {
            stream.close();
            answer.drop(prepared);
          });
    }
  }

  private void refuse(Refusal.Code code, String message) {
    Refusal refusal = new Refusal(code, message);
    if (code != Refusal.Code.LEFT && code != Refusal.Code.CLOSING) { // these are the order in which agents part
      context.log().warn(channel.description() + ": refused: " + Messages.printable(message));
    }
    boolean proven = step == Step.DECIDING || (step == Step.AUTH && !counted);
    byte[] mac =
        proven
            ? transcript.prove(context.secret(), Transcript.Proof.REFUSE, Messages.RefuseMessage.proven(refusal))
            : new byte[0];
    sayAndClose(new Messages.RefuseMessage(refusal, mac).encode());
    ended();
  }

  @Override
  void broken(PathFault fault) {
    context.log().warn(fault.detail());
    letGo();
  }

  /** Gives back what was prepared for the connection, which has ended. */
  void letGo() {
    Accepted prepared = accepted;
    Reply answer = reply;
    if (prepared != null && answer != null) {
      accepted = null;
      onPoolOr(() -> answer.drop(prepared), () -> answer.drop(prepared));
    }
    ended();
  }

  @Override
  void untrusted(SSLException e) {
    String message = channel.description() + ": TLS: " + e.getMessage();
    context.log().warn(message);
    Refusal refusal =
        new Refusal(
            Refusal.Code.AUTHENTICATION,
            "agent " + context.identity().name() + " wants TLS: set it up on both sides, with certificates they trust");
    sayInClearAndClose(Messages.RefuseMessage.of(refusal).encode());
    ended();
  }

  private void ended() {
    uncount();
    acceptor.ended(this);
  }

  private void uncount() {
    if (counted) {
      counted = false;
      acceptor.settled(this);
    }
  }

  private void onPool(Runnable task) {
    onPoolOr(task, () -> refuse(Refusal.Code.BUSY, "agent " + context.identity().name() + " is busy"));
  }

  private void onPoolOr(Runnable task, Runnable otherwise) {
    try {
      context.pool().execute(() -> {
        try {
          task.run();
        } catch (RuntimeException e) {
          LimitedLog.bug(channel.description() + ": the handshake's next step failed", e);
          context.loop().execute(this::end);
        }
      });
    } catch (RejectedExecutionException e) {
      otherwise.run();
    }
  }
}
