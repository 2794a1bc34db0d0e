/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import org.jspecify.annotations.Nullable;

/** How a transfer ended: exactly one of these, and it never changes. */
public sealed interface TransferEnd {

  /**
   * All bytes arrived; with a notification or a flush: they are visible, and the notification is
   * behind them.
   */
  record Done() implements TransferEnd {
    /** The one that is given out, so that an end allocates nothing. */
    public static final Done DONE = new Done();
  }

  /** Cancelled before the point of no return: no notification came or will come. */
  record Cancelled() implements TransferEnd {}

  /**
   * Failed.
   *
   * @param cause the class of failure
   * @param message one line: what happened, to what, what to do
   * @param peer the peer's name
   * @param rail the rail, if one is to blame
   * @param path path and generation, if one is to blame
   * @param position byte position in the transfer where it failed, −1 if not known
   * @param notified whether the notification may have been delivered
   */
  record Failed(
      Cause cause,
      String message,
      String peer,
      @Nullable String rail,
      @Nullable String path,
      long position,
      Notified notified)
      implements
        TransferEnd {}

  /** Whether a failed transfer's notification came. */
  enum Notified {
    /** It did not and will not. */
    NO,
    /** Not known: see {@link Transfer#remoteSettled()}. */
    UNKNOWN
  }

  /** The classes of failure. */
  enum Cause {
    /** Its time was over. */
    DEADLINE_EXCEEDED,
    /** The peer gave no sign of life for the link lease, or closed. */
    PEER_LOST,
    /** The peer's epoch is over. */
    PEER_RESTARTED,
    /** The peer ended the session: a lapse or a revoked grant. */
    SESSION_ENDED,
    /** The peer refused the connection for good. */
    REFUSED,
    /** The target refused a chunk: key, range or permission. */
    REMOTE_ACCESS,
    /** The target's region is closed. */
    REMOTE_REGION_CLOSED,
    /** Local memory could not be used. */
    LOCAL_ACCESS,
    /** The grant's generation had moved on: the bytes are not those that were lent. */
    STALE,
    /** No notification credit until the deadline. */
    NOTIFICATION_BACKLOG,
    /** The link or the agent was closed here. */
    CLOSED,
    /** Cancelled behind the point of no return, and not acknowledged in time. */
    CANCELLED
  }
}
