/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Transfer;
import dev.hawser.engine.spi.DataRequest.Op;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Transfers on the same link beside what goes wrong: they all go through, with the right bytes. */
final class Bystander implements AutoCloseable {
  private static final int BYTES = 64 * 1024;
  private static final int ROUNDS = 2;

  private final Pair pair;
  private final Memory local;
  private final Memory remote;
  private final Thread thread;
  private final AtomicInteger rounds = new AtomicInteger();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  private volatile boolean stopping;

  Bystander(Pair pair) {
    this.pair = pair;
    this.local = pair.local(BYTES);
    this.remote = pair.remote(BYTES);
    this.thread = Thread.ofPlatform().name("bystander").start(this::go);
    goesOn();
  }

  private void go() {
    try {
      Copies copies = Copies.of(local, 1, remote, 2, BYTES - 2);
      Transfer transfer = pair.prepare(Op.WRITE, copies).flush(true);
      while (!stopping) {
        local.paint(rounds.get() + 1);
        copies.expect(Op.WRITE);
        Ends.run(transfer);
        copies.verify("beside what goes wrong");
        rounds.incrementAndGet();
      }
    } catch (RuntimeException | AssertionError e) {
      failure.set(e);
    }
  }

  /** Waits until a few more have gone through. */
  void goesOn() {
    int enough = rounds.get() + ROUNDS;
    Waits.until("transfers beside go on", () -> failure.get() != null || rounds.get() >= enough);
    check();
  }

  private void check() {
    Throwable seen = failure.get();
    if (seen != null) {
      throw new AssertionError("a transfer beside what went wrong suffered", seen);
    }
  }

  @Override
  public void close() {
    stopping = true;
    try {
      thread.join(Waits.PATIENCE.toMillis());
    } catch (InterruptedException e) {
      throw new AssertionError("interrupted", e);
    }
    assertThat(thread.isAlive()).as("transfers beside still run").isFalse();
    local.close();
    remote.close();
    check();
  }
}
