/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.InboundNotification;
import java.lang.System.Logger.Level;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Notifications that arrived and that nobody has taken yet. Bounded by the credits that peers have: a credit goes back
 * when its notification is taken.
 */
final class NotificationQueue {
  private static final System.Logger LOG = System.getLogger(NotificationQueue.class.getName());

  private final ConcurrentLinkedQueue<InboundNotification> arrived = new ConcurrentLinkedQueue<>();
  private final AtomicInteger draining = new AtomicInteger();
  private final Callbacks callbacks;
  private volatile @Nullable Consumer<Notification> listener;

  NotificationQueue(Callbacks callbacks) {
    this.callbacks = callbacks;
  }

  /** Engine threads. */
  void add(InboundNotification notification) {
    arrived.add(notification);
    if (listener != null) {
      scheduleDrain();
    }
  }

  boolean isEmpty() {
    return arrived.isEmpty();
  }

  @Nullable
  Notification take() {
    InboundNotification inbound = arrived.poll();
    return inbound == null ? null : taken(inbound);
  }

  /** From now on everything goes to the listener, one at a time, in the order of arrival. */
  void listener(@Nullable Consumer<Notification> newListener) {
    listener = newListener;
    if (newListener != null) {
      scheduleDrain();
    }
  }

  private void scheduleDrain() {
    if (draining.getAndIncrement() == 0) {
      callbacks.run(this::drain);
    }
  }

  private void drain() {
    int seen = draining.get();
    do {
      Consumer<Notification> present = listener;
      for (InboundNotification next = present == null ? null : arrived.poll(); next != null; next = arrived.poll()) {
        tell(present, next);
        present = listener;
        if (present == null) {
          break;
        }
      }
      seen = draining.addAndGet(-seen);
    } while (seen != 0);
  }

  private static void tell(@Nullable Consumer<Notification> present, InboundNotification inbound) {
    if (present == null) {
      return;
    }
    try {
      present.accept(taken(inbound));
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "the notification listener failed on a notification from '" + inbound.peer() + "'", e);
    }
  }

  private static Notification taken(InboundNotification inbound) {
    Notification notification = new Notification(inbound.peer(), inbound.peerEpoch(), inbound.transfer(),
        inbound.requestId(), inbound.payload());
    inbound.consumed();
    return notification;
  }
}
