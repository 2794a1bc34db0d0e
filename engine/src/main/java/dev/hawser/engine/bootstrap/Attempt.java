/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.spi.PathFault;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Dials a target's addresses one after the other until one of them leads to an end. An address behind which nobody, or
 * somebody else, answers does not keep the next one from being tried: the same private address exists on many hosts.
 * Loop thread only.
 */
final class Attempt {
  private final BootstrapContext context;
  private final Frame first;
  private final String localHost;
  private final Consumer<ClientHandshake.Outcome> outcome;
  private final long deadline;
  private final Iterator<InetEndpoint> next;
  private int left;

  private final List<ClientHandshake.Outcome> failures = new ArrayList<>();
  private @Nullable Dialer dialer;
  private @Nullable ClientHandshake handshake;
  private boolean over;

  /**
   * Prepares an attempt.
   *
   * @param deadline of {@link System#nanoTime}
   * @param outcome gets one outcome, unless {@link #cancel} comes first
   */
  Attempt(
      BootstrapContext context,
      Frame first,
      List<InetEndpoint> endpoints,
      String localHost,
      long deadline,
      Consumer<ClientHandshake.Outcome> outcome) {
    this.context = context;
    this.first = first;
    this.localHost = localHost;
    this.outcome = outcome;
    this.deadline = deadline;
    this.next = endpoints.iterator();
    this.left = endpoints.size();
  }

  /** Tries the next address. */
  void dialNext() {
    if (over) {
      return;
    }
    long remaining = deadline - System.nanoTime();
    if (!next.hasNext() || (remaining <= 0 && !failures.isEmpty())) {
      finish(summary());
      return;
    }
    // One address that swallows everything must leave time for the others.
    long share = Math.max(0, remaining) / left--;
    dialer =
        Dialer.dial(
            context.loop(),
            next.next(),
            localHost,
            share,
            new Dialer.Listener() {
              @Override
              public void connected(int fd, String description) {
                dialer = null;
                shake(fd, description);
              }

              @Override
              public void failed(PathFault fault) {
                dialer = null;
                // Not from here: the dialler may not have returned yet.
                context.loop().execute(() -> ended(new ClientHandshake.Outcome.Broken(fault)));
              }
            });
  }

  private void shake(int fd, String description) {
    long remaining = Math.max(1, (deadline - System.nanoTime()) / (left + 1));
    ClientHandshake started =
        new ClientHandshake(context, context.channel(fd, description, true), first, this::ended);
    handshake = started;
    started.begin(remaining);
  }

  private void ended(ClientHandshake.Outcome result) {
    handshake = null;
    if (over) {
      if (result instanceof ClientHandshake.Outcome.Welcomed welcomed) {
        welcomed.stream().close();
      }
      return;
    }
    boolean another =
        result instanceof ClientHandshake.Outcome.Broken
            || (result instanceof ClientHandshake.Outcome.Refused(Refusal refusal)
                && refusal.code() == Refusal.Code.WRONG_AGENT);
    if (!another) {
      finish(result);
      return;
    }
    failures.add(result);
    dialNext();
  }

  /** A refusal if all there is are refusals; else a fault that has every address's own reason. */
  private ClientHandshake.Outcome summary() {
    if (failures.size() == 1) {
      return failures.getFirst();
    }
    if (failures.stream().allMatch(ClientHandshake.Outcome.Refused.class::isInstance) && !failures.isEmpty()) {
      return failures.getFirst();
    }
    PathFault.Kind kind =
        isAll(PathFault.Kind.TIMED_OUT)
            ? PathFault.Kind.TIMED_OUT
            : isAll(PathFault.Kind.REFUSED) ? PathFault.Kind.REFUSED : PathFault.Kind.UNREACHABLE;
    return new ClientHandshake.Outcome.Broken(new PathFault(kind, reasons()));
  }

  private boolean isAll(PathFault.Kind kind) {
    return failures.stream()
        .allMatch(
            outcome -> outcome instanceof ClientHandshake.Outcome.Broken(PathFault fault) && fault.kind() == kind);
  }

  /** Each address's own reason so far; empty if there is none. */
  String reasons() {
    return failures.stream().map(Attempt::reason).collect(Collectors.joining("; "));
  }

  private static String reason(ClientHandshake.Outcome outcome) {
    return switch (outcome) {
      case ClientHandshake.Outcome.Broken(PathFault fault) -> fault.detail();
      case ClientHandshake.Outcome.Refused(Refusal refusal) -> refusal.message();
      default -> outcome.toString();
    };
  }

  private void finish(ClientHandshake.Outcome result) {
    over = true;
    outcome.accept(result);
  }

  void cancel() {
    over = true;
    if (dialer != null) {
      dialer.cancel();
    }
    if (handshake != null) {
      handshake.end();
    }
  }
}
