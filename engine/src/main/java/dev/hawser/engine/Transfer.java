/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import java.time.Duration;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One transfer, prepared once and posted any number of times, one post at a time. Setters hold for
 * the posts that follow and may be called only while none is active. Posting again allocates
 * nothing. {@link #poll}, {@link #cancel} and {@link #end} may be called from any thread.
 */
public interface Transfer {

  /** What a notification at the target is for. */
  int MAX_NOTIFICATION_BYTES = 4096;

  /** The bytes delivered to the target after all the data; null for none. At most 4 KiB, copied. */
  Transfer notification(byte @Nullable [] payload);

  /**
   * Counts one arrival at the target's counter instead of delivering a notification; null for none.
   * Excludes {@link #notification}.
   */
  Transfer count(@Nullable Long counter);

  /** Asks for the commit phase without a payload: the end then means visible, not only received. */
  Transfer flush(boolean flush);

  /** Whose chunks go first where transfers wait for the same paths; BULK unless set. */
  Transfer priority(Priority priority);

  /** Appears in telemetry and errors on both sides; at most 64 bytes of UTF-8; null for none. */
  Transfer requestId(@Nullable String requestId);

  /** How long a post may take before it ends as FAILED(DEADLINE_EXCEEDED). */
  Transfer timeout(Duration timeout);

  /**
   * For READ: the grant under which the remote blocks were lent. After the data the reader reads
   * the generation word at {@code address} and compares: a difference ends the transfer as
   * FAILED(STALE). Null for none.
   */
  Transfer grant(@Nullable GrantCheck grant);

  /**
   * What a post waits for before its first byte is read or written, and before anything of it is told to the target: asked
   * again and again by whoever moves the link, so it must be cheap, and must not block. Null for nothing. The timeout runs
   * meanwhile.
   */
  Transfer startsWhen(@Nullable BooleanSupplier condition);

  /**
   * Called once at the end of each post, on an engine thread: must not block and must not call back
   * into the engine except {@link #end}. Null for none.
   */
  Transfer onEnd(@Nullable Consumer<Transfer> callback);

  /**
   * Starts it. A small request on mapped memory is complete when this returns.
   *
   * @throws IllegalStateException if the last post has not ended
   * @throws LinkException if the link is closed or refused
   */
  void post();

  /**
   * Starts it and waits for its end on this thread: the way of the lowest latency, since no worker
   * needs to wake up.
   *
   * @return false if the time is over first; the transfer goes on
   */
  boolean postAndAwait(Duration timeout);

  /** True once the present post has ended. Cheap; moves the engine on if no worker is at it. */
  boolean poll();

  /**
   * Waits for the end of the present post, helping the engine on this thread where possible.
   *
   * @return false if the time is over first; the transfer goes on
   */
  boolean await(Duration timeout);

  /**
   * Asks for the end. It follows within the drain time (20 ms), needs no peer, and is CANCELLED
   * unless the point of no return had been passed: then it is DONE if the target still acknowledges,
   * else FAILED ({@link TransferEnd.Cause#CANCELLED}, notified UNKNOWN).
   */
  void cancel();

  /** How the last post ended; null while it is under way or before the first. */
  @Nullable
  TransferEnd end();

  /** What became of the last post at the target. */
  RemoteState remoteSettled();

  /**
   * The transfer's number within its link, new with every post and known when {@link #post} returns; 0 before the first.
   */
  long id();

  /** Bytes of the plan. */
  long totalBytes();

  /** Bytes acknowledged so far in the present post. */
  long acknowledgedBytes();

  /**
   * What each path carried of the last post, by the path's number within the link ({@link Link.PathReport#path}); empty
   * while it is under way or before the first.
   */
  Map<Integer, Long> bytesByPath();

  /** The target's final view of a transfer. */
  enum RemoteState {
    /** Not known yet. */
    PENDING,
    /** Delivered once. */
    DELIVERED,
    /**
     * It will never be delivered, and no byte of it will land any more: the target said so, or it is a WRITE of which
     * nothing had left this side.
     */
    ABORTED,
    /** Nobody can tell any more: the target restarted, or the link was closed here. */
    UNKNOWN,
    /** Nothing at the target depends on it: a READ, or a WRITE that ended DONE without commit. */
    NOT_APPLICABLE
  }
}
