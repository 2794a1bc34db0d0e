/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.TlsChannel;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.WaitSet;
import java.io.EOFException;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** One side of one handshake: moves its TLS and its frames. Loop thread only. */
abstract class Handshake implements BootstrapLoop.Handler {
  /** How long the peer has to take our last words before we close. */
  private static final long LINGER_NANOS = 1_000_000_000L;

  private enum State {
    TLS, TLS_TASK, FRAMES, PAUSED, LINGER, OVER
  }

  final BootstrapContext context;
  final FrameChannel channel;
  final Transcript transcript = new Transcript();

  private State state;
  private int interest = WaitSet.READ;
  private boolean heard;
  private BootstrapLoop.@Nullable Timer deadline;

  Handshake(BootstrapContext context, FrameChannel channel) {
    this.context = context;
    this.channel = channel;
    this.state = channel.tls() == null ? State.FRAMES : State.TLS;
  }

  /** Begins; the peer has {@code nanos} until {@link #stopClock}. */
  final void begin(long nanos) {
    context.loop().watch(channel.fd(), interest, this);
    deadline = context.loop().after(nanos, this::timedOut);
    if (state == State.FRAMES) {
      established();
    }
    ready();
  }

  /** The connection is there, and secret if it is to be: the side that speaks first does so now. */
  abstract void established();

  /** The first that the peer said is here: its first frame, or what TLS can make something of. */
  void spoken() {}

  /** Whether nothing whole has come yet. */
  final boolean isSilent() {
    return !heard;
  }

  private void hear() {
    if (!heard) {
      heard = true;
      spoken();
    }
  }

  /** A frame came. */
  abstract void received(Frame frame) throws MalformedFrameException;

  /** The connection failed, or brought something else than the protocol. Nothing more follows. */
  abstract void broken(PathFault fault);

  /** TLS did not come about. */
  void untrusted(SSLException e) {
    end();
    broken(new PathFault(PathFault.Kind.PROTOCOL, channel.description() + ": TLS: " + e.getMessage()));
  }

  private void timedOut() {
    boolean said = state == State.LINGER;
    end();
    if (!said) {
      broken(
          new PathFault(
              PathFault.Kind.TIMED_OUT, channel.description() + ": the handshake did not come to its end in time"));
    }
  }

  final void restartClock(long nanos) {
    stopClock();
    deadline = context.loop().after(nanos, this::timedOut);
  }

  final void stopClock() {
    context.loop().cancel(deadline);
    deadline = null;
  }

  @Override
  public final void loopEnds(int fd) {
    end();
  }

  @Override
  public final void ready() {
    try {
      if (state == State.TLS) {
        moveTls();
      }
      if (state == State.LINGER) {
        linger();
        return;
      }
      if (state == State.FRAMES || state == State.PAUSED) {
        moveFrames();
      }
    } catch (MalformedFrameException e) {
      end();
      broken(new PathFault(PathFault.Kind.PROTOCOL, channel.description() + ": " + e.getMessage()));
    } catch (EOFException e) {
      end();
      broken(new PathFault(PathFault.Kind.RESET, channel.description() + ": " + e.getMessage()));
    } catch (SSLException e) {
      untrusted(e);
    } catch (IOException e) {
      end();
      broken(new PathFault(PathFault.Kind.RESET, channel.description() + ": " + e.getMessage()));
    }
  }

  private void moveTls() throws SSLException {
    TlsChannel tls = channel.tls();
    if (tls == null) {
      throw new IllegalStateException("no TLS here");
    }
    switch (tls.handshake()) {
      case DONE -> {
        state = State.FRAMES;
        established();
      }
      case READ -> want(WaitSet.READ);
      case WRITE -> want(WaitSet.WRITE);
      case TASK -> {
        state = State.TLS_TASK;
        want(0);
        hear();
        runTlsTask(tls);
      }
    }
  }

  private void runTlsTask(TlsChannel tls) {
    Runnable task = tls.engine().getDelegatedTask();
    try {
      context
          .pool()
          .execute(
              () -> {
                if (task != null) {
                  task.run();
                }
                context.loop().execute(this::tlsTaskDone);
              });
    } catch (RejectedExecutionException e) {
      end();
      broken(new PathFault(PathFault.Kind.ABORTED, channel.description() + ": too many handshakes at once"));
    }
  }

  private void tlsTaskDone() {
    if (state == State.TLS_TASK) {
      state = State.TLS;
      ready();
    }
  }

  private void moveFrames() throws IOException, MalformedFrameException {
    boolean sent = channel.flush();
    while (state == State.FRAMES) {
      Frame frame = channel.read();
      if (frame == null) {
        break;
      }
      hear();
      received(frame);
      if (state != State.FRAMES && state != State.PAUSED) {
        return;
      }
      sent = channel.flush();
    }
    if (sent && state != State.OVER) {
      flushed();
    }
    if (state == State.FRAMES) {
      want(WaitSet.READ | (channel.hasOutput() ? WaitSet.WRITE : 0));
    } else if (state == State.PAUSED) {
      want(channel.hasOutput() ? WaitSet.WRITE : 0);
    }
  }

  /** Everything that was written has left. Called often. */
  void flushed() {}

  final void send(Frame frame) {
    transcript.add(frame);
    channel.write(frame);
  }

  /** From now on nothing is read: what comes belongs to whoever gets the socket. */
  final void pause() {
    if (state == State.FRAMES) {
      state = State.PAUSED;
    }
  }

  final boolean isOver() {
    return state == State.OVER || state == State.LINGER;
  }

  /** Sends a last frame and closes, in an order in which the peer gets to read it. */
  final void sayAndClose(Frame last) {
    channel.write(last);
    startLinger();
  }

  /** The same outside of a TLS session that did not come about. */
  final void sayInClearAndClose(Frame last) {
    channel.writeInClear(last);
    startLinger();
  }

  private void startLinger() {
    state = State.LINGER;
    stopClock();
    deadline = context.loop().after(LINGER_NANOS, this::timedOut);
    want(WaitSet.READ | WaitSet.WRITE);
  }

  private void linger() throws IOException {
    if (channel.flush()) {
      Sockets.shutdownOutput(channel.fd());
      want(WaitSet.READ);
    }
    // Bytes left unread would make the kernel reset the connection, and the peer lose our words.
    if (channel.discard()) {
      end();
    }
  }

  /** Leaves the loop and keeps the socket open, for its next owner. */
  final void handOver() {
    stopClock();
    state = State.OVER;
    context.loop().unwatch(channel.fd());
    channel.release();
  }

  final void end() {
    if (state != State.OVER) {
      stopClock();
      state = State.OVER;
      context.loop().unwatch(channel.fd());
      channel.close();
    }
  }

  private void want(int wanted) {
    if (wanted != interest && state != State.OVER) {
      interest = wanted;
      context.loop().interest(channel.fd(), wanted);
    }
  }
}
