/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.agent.AgentException;
import dev.hawser.agent.PreparedTransfer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One thread's part of a direction: posts its transfers in turn, keeps so many under way, and takes each one's own
 * time. The loop allocates nothing.
 */
final class Poster {
  private final PreparedTransfer[] transfers;
  private final int depth;
  private final long intervalNanos;
  private final Completion completion;
  private final Duration timeout;
  private final Timings timings = Timings.empty();
  private final long[] due;
  private final long[] inPost;

  private long requests;
  private long started;
  private long ended;
  private @Nullable String failure;

  /**
   * A thread's part.
   *
   * @param intervalNanos between two posts; 0: as soon as one has ended
   */
  Poster(PreparedTransfer[] transfers, int depth, long intervalNanos, Completion completion, Duration timeout) {
    this.transfers = transfers;
    this.depth = depth;
    this.intervalNanos = intervalNanos;
    this.completion = completion;
    this.timeout = timeout;
    this.due = new long[depth];
    this.inPost = new long[depth];
  }

  /**
   * Posts each transfer once, and goes on in turn until the time is over.
   *
   * @param nanos the time, 0: once is enough
   */
  void run(long nanos) {
    requests = 0;
    failure = null;
    long limit = nanos == 0 ? transfers.length : Long.MAX_VALUE;
    long posted = 0;
    int head = 0; // the next to post
    int tail = 0; // the oldest under way
    int ring = 0;
    int oldest = 0;
    started = System.nanoTime();
    ended = started;
    long end = started + nanos;
    try {
      while (true) {
        while (posted < limit && posted - requests < depth) {
          long turn = intervalNanos == 0 ? 0 : awaitTurn(posted);
          // Right behind an end its time is ours, too: reading the clock is a system call on some machines.
          boolean justEnded = intervalNanos == 0 && requests > 0 && posted - requests == depth - 1;
          long begin = justEnded ? ended : System.nanoTime();
          transfers[head].post();
          inPost[ring] = System.nanoTime() - begin;
          due[ring] = intervalNanos == 0 ? begin : turn;
          ring = ring + 1 == depth ? 0 : ring + 1;
          head = head + 1 == transfers.length ? 0 : head + 1;
          posted++;
        }
        if (posted == requests) {
          return;
        }
        awaitEnd(transfers[tail]);
        ended = System.nanoTime();
        timings.record(ended - due[oldest], inPost[oldest]);
        requests++;
        oldest = oldest + 1 == depth ? 0 : oldest + 1;
        tail = tail + 1 == transfers.length ? 0 : tail + 1;
        if (ended - end >= 0 && posted >= transfers.length) {
          limit = posted;
        }
      }
    } catch (AgentException e) {
      failure = e.getMessage();
      giveUp(tail, (int) (posted - requests));
    }
  }

  /** Waits for a request in the way that is measured. */
  @SuppressWarnings("ThreadPriorityCheck") // Only a hint: the core may be the one that the worker waits for.
  private void awaitEnd(PreparedTransfer transfer) {
    if (completion == Completion.WORKER) {
      long deadline = System.nanoTime() + timeout.toNanos();
      while (transfer.end() == null && deadline - System.nanoTime() > 0) {
        Thread.yield();
      }
    }
    transfer.await(timeout);
  }

  /** With a rate, the time counts from when the request was due: a late post is part of what its user waits for. */
  private long awaitTurn(long index) {
    long turn = started + index * intervalNanos;
    while (turn - System.nanoTime() > 0) {
      Thread.onSpinWait();
    }
    return turn;
  }

  /** Nothing may be under way when the memory is looked at, or the transfers are dropped. */
  private void giveUp(int first, int count) {
    for (int i = 0, slot = first; i < count; i++, slot = slot + 1 == transfers.length ? 0 : slot + 1) {
      PreparedTransfer transfer = transfers[slot];
      long deadline = System.nanoTime() + timeout.toNanos();
      if (transfer.id() != 0) {
        transfer.cancel();
        while (!transfer.poll() && deadline - System.nanoTime() > 0) {
          Thread.onSpinWait();
        }
      }
    }
  }

  long requests() {
    return requests;
  }

  long started() {
    return started;
  }

  long ended() {
    return ended;
  }

  @Nullable
  String failure() {
    return failure;
  }

  Timings timings() {
    return timings;
  }
}
