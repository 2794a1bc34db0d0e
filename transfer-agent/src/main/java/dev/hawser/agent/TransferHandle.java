/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import org.jspecify.annotations.Nullable;

/** A transfer as its initiator follows it. Thread-safe, except where a method says otherwise. */
public sealed interface TransferHandle permits PreparedTransfer, TransferFuture {
  /** What it does. */
  Operation operation();

  /** With whom. */
  Peer peer();

  /**
   * Whether it has ended. Cheap, never blocks, and moves the engine on if nobody else is at it.
   *
   * @return true once ended, however it ended: see {@link #end}
   */
  boolean poll();

  /** How it ended; null while it is under way, or before the first post. */
  @Nullable
  TransferEnd end();

  /**
   * Asks for the end, which follows within the drain time and needs no peer. It is CANCELLED, unless the notification was
   * on its way already: then the transfer is done after all.
   */
  void cancel();

  /** What became of it at the peer: after CANCELLED or a failure, the peer's memory is quiet once this is settled. */
  RemoteState remoteSettled();

  /** The request id, if it has one. */
  @Nullable
  String requestId();

  /** Bytes that it moves. */
  long totalBytes();

  /** Bytes acknowledged so far. */
  long acknowledgedBytes();
}
