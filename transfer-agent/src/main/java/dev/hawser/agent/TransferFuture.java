/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A transfer that was posted: awaited on this thread, polled, or followed as a {@link
 * java.util.concurrent.CompletionStage}, which completes with the result, or exceptionally with a {@link
 * TransferException}. Thread-safe.
 */
public final class TransferFuture extends LazyStage<TransferResult> implements TransferHandle {
  private final PreparedTransfer prepared;
  private final Callbacks callbacks;
  private volatile long endedAt;
  private volatile boolean over;

  TransferFuture(PreparedTransfer prepared, Callbacks callbacks) {
    this.prepared = prepared;
    this.callbacks = callbacks;
  }

  /** On an engine thread. */
  void ended() {
    endedAt = System.nanoTime();
    over = true;
    CompletableFuture<TransferResult> stage = stageOrNull();
    if (stage != null) {
      completeIfEnded(stage);
    }
  }

  @Override
  void completeIfEnded(CompletableFuture<TransferResult> future) {
    if (over) {
      callbacks.run(() -> complete(future));
    }
  }

  private void complete(CompletableFuture<TransferResult> future) {
    TransferResult result;
    try {
      result = result();
    } catch (TransferException e) {
      future.completeExceptionally(e);
      return;
    }
    future.complete(result);
  }

  /**
   * Waits for the end, helping the engine on this thread where possible.
   *
   * @throws AwaitTimeoutException if the time is over first; the transfer goes on: await again, or cancel
   * @throws TransferException if it failed or was cancelled
   */
  public TransferResult await(Duration timeout) {
    prepared.await(timeout);
    return result();
  }

  private TransferResult result() {
    TransferEnd end = prepared.end();
    if (end == null) {
      throw new IllegalStateException(prepared + " has not ended");
    }
    if (!(end instanceof TransferEnd.Done)) {
      throw TransferException.of(end, prepared.operation(), prepared.peer().name(), prepared.requestId());
    }
    long until = over ? endedAt : System.nanoTime();
    return new TransferResult(prepared.operation(), prepared.peer().name(), prepared.peerEpoch(), prepared.id(),
        prepared.requestId(), prepared.totalBytes(), Duration.ofNanos(until - prepared.postedAt()));
  }

  boolean takeEnded() {
    return prepared.takeEnded();
  }

  @Override
  public boolean poll() {
    return prepared.poll();
  }

  @Override
  public @Nullable TransferEnd end() {
    return prepared.end();
  }

  @Override
  public void cancel() {
    prepared.cancel();
  }

  @Override
  public Transfer.RemoteState remoteSettled() {
    return prepared.remoteSettled();
  }

  @Override
  public Operation operation() {
    return prepared.operation();
  }

  @Override
  public Peer peer() {
    return prepared.peer();
  }

  @Override
  public @Nullable String requestId() {
    return prepared.requestId();
  }

  @Override
  public long totalBytes() {
    return prepared.totalBytes();
  }

  @Override
  public long acknowledgedBytes() {
    return prepared.acknowledgedBytes();
  }

  @Override
  public String toString() {
    TransferEnd end = prepared.end();
    return prepared + (end == null ? ", under way" : ", " + end);
  }
}
