/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.InboundNotification;
import org.jspecify.annotations.Nullable;

/** What the engine tells the agent as a target. On engine threads: must not block. */
final class Inbound implements InboundHandler {
  private final NotificationQueue notifications;
  private final CounterTable counters;
  private final AgentListener listener;
  private final Callbacks callbacks;

  Inbound(NotificationQueue notifications, CounterTable counters, AgentListener listener, Callbacks callbacks) {
    this.notifications = notifications;
    this.counters = counters;
    this.listener = listener;
    this.callbacks = callbacks;
  }

  @Override
  public void notification(InboundNotification notification) {
    notifications.add(notification);
  }

  @Override
  public void counted(String peer, long peerEpoch, long counter, @Nullable String requestId) {
    for (CounterFuture future : counters.arrived(counter)) {
      future.fulfil();
    }
  }

  @Override
  public void aborted(String peer, long peerEpoch, long transfer, @Nullable String requestId) {
    callbacks.run(() -> listener.transferAborted(peer, peerEpoch, transfer, requestId));
  }

  @Override
  public void peerLost(String peer, long peerEpoch, String reason) {
    callbacks.run(() -> listener.peerLost(peer, peerEpoch, reason));
  }
}
