/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One path generation being opened: the transport's offer, the dialling and the handshake, the transport's connection,
 * and one result at the latest when the time is over. Its state is the loop thread's.
 */
final class OpenAttempt {
  private final BootstrapContext context;
  private final Transport transport;
  private final OpenRequest request;
  private final Messages.Opening opening;
  private final Consumer<OpenResult> callback;
  private final Consumer<OpenAttempt> ended;
  private final long deadline;

  private boolean over;
  private @Nullable Attempt attempt;
  private @Nullable PathSetup setup;
  private BootstrapLoop.@Nullable Timer timer;

  OpenAttempt(
      BootstrapContext context,
      Transport transport,
      OpenRequest request,
      Messages.Opening opening,
      Consumer<OpenResult> callback,
      Consumer<OpenAttempt> ended) {
    this.context = context;
    this.transport = transport;
    this.request = request;
    this.opening = opening;
    this.callback = callback;
    this.ended = ended;
    this.deadline = System.nanoTime() + request.timeoutNanos();
  }

  void start() {
    timer = context.loop().after(Math.max(0, deadline - System.nanoTime()), this::timedOut);
    onPool(this::prepare);
  }

  /** On the pool. */
  private void prepare() {
    PathSetup made;
    Frame frame;
    PathSetup.Dial dial;
    List<InetEndpoint> endpoints;
    try {
      made =
          transport.initiate(
              new Reachability.Route(request.rail(), request.hello().remoteRail()),
              request.hello().target(),
              request.hello().key(),
              request.transportDescription());
    } catch (RuntimeException e) {
      unprepared(e);
      return;
    }
    try {
      dial = made.dial(request.addresses());
      endpoints = dial.addresses().stream().map(InetEndpoint::parse).toList();
      frame = new Messages.HelloMessage(opening, request.hello(), made.message()).encode();
    } catch (RuntimeException e) {
      made.close();
      unprepared(e);
      return;
    }
    onLoop(() -> prepared(made, dial, endpoints, frame), made::close);
  }

  private void unprepared(RuntimeException e) {
    if (!(e instanceof PathSetupException) && !(e instanceof IllegalArgumentException)) {
      LimitedLog.bug("transport " + transport.name() + " failed to offer " + request.hello(), e);
    }
    PathFault fault =
        new PathFault(PathFault.Kind.UNREACHABLE,
            request.rail() + ": " + (e.getMessage() == null ? e : e.getMessage()));
    onLoop(() -> finish(new OpenResult.Failed(fault)), () -> {});
  }

  private void prepared(PathSetup made, PathSetup.Dial dial, List<InetEndpoint> endpoints, Frame frame) {
    if (over) {
      made.close();
      return;
    }
    setup = made;
    if (endpoints.isEmpty()) {
      fail(PathFault.Kind.UNREACHABLE, request.rail() + ": no address of " + request.hello().target() + " is known");
      return;
    }
    Attempt dialling = new Attempt(context, frame, endpoints, dial.localHost(), deadline, this::shaken);
    attempt = dialling;
    dialling.dialNext();
  }

  private void shaken(ClientHandshake.Outcome outcome) {
    switch (outcome) {
      case ClientHandshake.Outcome.Welcomed(Welcome welcome, byte[] answer, HandedStream stream) -> {
        PathSetup ready = setup;
        setup = null;
        if (ready == null) {
          stream.close();
        } else {
          connectOnPool(ready, welcome, answer, stream);
        }
      }
      case ClientHandshake.Outcome.Refused(Refusal refusal) -> finish(new OpenResult.Refused(refusal));
      case ClientHandshake.Outcome.Broken(PathFault fault) -> finish(new OpenResult.Failed(fault));
      case ClientHandshake.Outcome.Identified identified ->
        fail(PathFault.Kind.PROTOCOL, request.rail() + ": " + identified + " as the answer to a HELLO");
    }
  }

  private void connectOnPool(PathSetup ready, Welcome welcome, byte[] answer, HandedStream stream) {
    try {
      context.pool().execute(() -> connect(ready, welcome, answer, stream));
    } catch (RejectedExecutionException e) {
      stream.close();
      ready.close();
      fail(PathFault.Kind.ABORTED, request.rail() + ": too many connections are being opened");
    }
  }

  /** On the pool. */
  private void connect(PathSetup ready, Welcome welcome, byte[] answer, HandedStream stream) {
    Connection connection;
    try {
      connection = ready.connect(answer, stream);
    } catch (RuntimeException e) {
      stream.close();
      unprepared(e);
      return;
    }
    onLoop(
        () -> {
          if (over) {
            discard(connection);
          } else {
            finish(new OpenResult.Opened(connection, welcome));
          }
        },
        () -> discard(connection));
  }

  /** Nothing was posted on it, so nothing can be under way. */
  private static void discard(Connection connection) {
    connection.abort();
    connection.close();
  }

  private void timedOut() {
    String reasons = attempt == null ? "" : attempt.reasons();
    fail(
        PathFault.Kind.TIMED_OUT,
        "%s to %s: not open after %d ms%s"
            .formatted(
                request.rail(),
                request.hello().target(),
                request.timeoutNanos() / 1_000_000,
                reasons.isEmpty() ? "" : ": " + reasons));
  }

  private void fail(PathFault.Kind kind, String detail) {
    finish(new OpenResult.Failed(new PathFault(kind, detail)));
  }

  void cancel(String why) {
    fail(PathFault.Kind.ABORTED, why);
  }

  private void finish(OpenResult result) {
    if (over) {
      return;
    }
    over = true;
    context.loop().cancel(timer);
    if (attempt != null) {
      attempt.cancel();
    }
    if (setup != null) {
      setup.close();
      setup = null;
    }
    ended.accept(this);
    report(result);
  }

  /** The callback may take its time, so it does not run on the loop while there is another thread. */
  private void report(OpenResult result) {
    try {
      context.pool().execute(() -> callback.accept(result));
    } catch (RejectedExecutionException e) {
      callback.accept(result);
    }
  }

  private void onPool(Runnable task) {
    try {
      context.pool().execute(task);
    } catch (RejectedExecutionException e) {
      fail(PathFault.Kind.ABORTED, request.rail() + ": too many connections are being opened");
    }
  }

  private void onLoop(Runnable task, Runnable otherwise) {
    if (!context.loop().execute(task)) {
      otherwise.run();
    }
  }
}
