/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.Priority;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a transfer carries besides its bytes. Immutable: each method gives options with one thing more.
 *
 * <pre>{@code agent.write(local, peer, remote, TransferOptions.notifying(key).requestId("r-17"))}</pre>
 */
public final class TransferOptions {
  /** Nothing: the end of a WRITE then means received, and the deadline is the agent's usual one. */
  public static final TransferOptions NONE =
      new TransferOptions(null, null, false, null, null, null, Priority.BULK);

  private final byte @Nullable [] notification;
  private final @Nullable Long counter;
  private final boolean flush;
  private final @Nullable String requestId;
  private final @Nullable Duration timeout;
  private final @Nullable LentBlocks grant;
  private final Priority priority;

  private TransferOptions(byte @Nullable [] notification, @Nullable Long counter, boolean flush,
      @Nullable String requestId, @Nullable Duration timeout, @Nullable LentBlocks grant,
      Priority priority) {
    if (notification != null && counter != null) {
      throw new IllegalArgumentException("counter: a transfer notifies or counts, not both; drop one");
    }
    this.notification = notification;
    this.counter = counter;
    this.flush = flush;
    this.requestId = requestId;
    this.timeout = timeout;
    this.grant = grant;
    this.priority = priority;
  }

  /** {@link #NONE} with a notification. */
  public static TransferOptions notifying(byte[] payload) {
    return NONE.notification(payload);
  }

  /** {@link #NONE} with a notification: the UTF-8 bytes of a text. */
  public static TransferOptions notifying(String text) {
    return notifying(text.getBytes(StandardCharsets.UTF_8));
  }

  /** {@link #NONE} with an arrival for a counter. */
  public static TransferOptions counting(long counter) {
    return NONE.counter(counter);
  }

  /** With bytes that the peer gets after all the data: at most 4 KiB, copied. */
  public TransferOptions notification(byte[] payload) {
    return new TransferOptions(payload.clone(), counter, flush, requestId, timeout, grant, priority);
  }

  /** With one arrival at a counter of the peer ({@link Agent#expect}) after all the data. */
  public TransferOptions counter(long number) {
    return new TransferOptions(notification, number, flush, requestId, timeout, grant, priority);
  }

  /** With the commit phase, so that the end of a WRITE means visible at the peer. */
  public TransferOptions flush() {
    return new TransferOptions(notification, counter, true, requestId, timeout, grant, priority);
  }

  /** With an id that appears in telemetry and errors on both sides: at most 64 bytes of UTF-8. */
  public TransferOptions requestId(String id) {
    return new TransferOptions(notification, counter, flush, Objects.requireNonNull(id), timeout, grant, priority);
  }

  /** With a deadline, counted from the post. */
  public TransferOptions timeout(Duration duration) {
    return new TransferOptions(notification, counter, flush, requestId, Objects.requireNonNull(duration), grant,
        priority);
  }

  /** Under a grant: a READ is checked against its generation after the data. */
  public TransferOptions grant(LentBlocks lent) {
    return new TransferOptions(notification, counter, flush, requestId, timeout, Objects.requireNonNull(lent),
        priority);
  }

  /** With another priority than BULK. */
  public TransferOptions priority(Priority other) {
    return new TransferOptions(notification, counter, flush, requestId, timeout, grant, Objects.requireNonNull(other));
  }

  void applyTo(PreparedTransfer transfer) {
    if (notification != null) {
      transfer.notification(notification);
    }
    if (counter != null) {
      transfer.counter(counter);
    }
    if (flush) {
      transfer.flush(true);
    }
    if (requestId != null) {
      transfer.requestId(requestId);
    }
    if (timeout != null) {
      transfer.timeout(timeout);
    }
    transfer.priority(priority);
    if (grant != null) {
      transfer.withGrant(grant);
    }
  }
}
