/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.Link;
import dev.hawser.engine.Link.PathReport;
import dev.hawser.engine.Priority;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest.Op;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Posting, again and again, by many, and every way to see the end. */
interface PostingCases extends Cases {

  @Test
  default void postsAPreparedTransferTenThousandTimes() {
    int posts = 10_000;
    try (Memory local = pair().local(4096);
        Memory remote = pair().remote(4096)) {
      remote.paint(seed());
      Transfer write = pair().prepare(Op.WRITE, Copies.of(local, 16, remote, 24, 8));
      long last = 0;
      for (int i = 1; i <= posts; i++) {
        boolean flushed = i % 20 == 0;
        local.bytes().set(ValueLayout.JAVA_LONG, 16, i * 0x9e3779b97f4a7c15L);
        write.flush(flushed);
        switch (i % 3) {
          case 0 -> {
            write.post();
            Waits.until("post " + i, write::poll);
          }
          case 1 -> {
            write.post();
            assertThat(write.await(Waits.PATIENCE)).as("post %s", i).isTrue();
          }
          default -> assertThat(write.postAndAwait(Waits.PATIENCE)).as("post %s", i).isTrue();
        }
        if (!(write.end() instanceof TransferEnd.Done)) {
          throw new AssertionError("post " + i + " ended as " + write.end());
        }
        if (write.id() == last) {
          throw new AssertionError("post " + i + " has the number of the one before");
        }
        last = write.id();
        if (flushed && remote.bytes().get(ValueLayout.JAVA_LONG, 24) != i * 0x9e3779b97f4a7c15L) {
          throw new AssertionError("post " + i + " is flushed, but its bytes are not there");
        }
      }
      remote.expect(remote.address() + 24, local.bytes().asSlice(16, 8));
      remote.verify("all posts of one prepared transfer");
    }
  }

  @Test
  default void nothingOfATransferMovesBeforeItMayStart() {
    try (Memory local = pair().local(4096);
        Memory remote = pair().remote(4096)) {
      local.paint(seed());
      remote.paint(seed() + 1);
      AtomicBoolean may = new AtomicBoolean();
      Transfer held = pair().prepare(Op.WRITE, Copies.of(local, 0, remote, 0, 1024)).flush(true).startsWhen(may::get);
      Transfer other = pair().prepare(Op.WRITE, Copies.of(local, 2048, remote, 2048, 1024)).flush(true);
      held.post();
      Ends.run(other); // posted later, and held up by nothing
      remote.expect(remote.address() + 2048, local.bytes().asSlice(2048, 1024));
      remote.watch("a transfer that may not start", Duration.ofMillis(50));
      assertThat(held.end()).isNull();
      may.set(true);
      assertThat(held.await(Waits.PATIENCE)).isTrue();
      assertThat(held.end()).isEqualTo(new TransferEnd.Done());
      remote.expect(remote.address(), local.bytes().asSlice(0, 1024));
      remote.verify("after the start");

      may.set(false);
      held.post();
      held.cancel();
      Waits.until("the end of what never started", held::poll);
      assertThat(held.end()).isEqualTo(new TransferEnd.Cancelled());
      held.timeout(Duration.ofMillis(50)).post();
      Waits.until("the deadline of what never started", held::poll);
      assertThat(held.end()).isInstanceOf(TransferEnd.Failed.class);
      remote.verify("transfers that never started");
      // Nothing stays behind: the same again, without a condition.
      held.timeout(Waits.PATIENCE).startsWhen(null).post();
      assertThat(held.await(Waits.PATIENCE)).isTrue();
      assertThat(held.end()).isEqualTo(new TransferEnd.Done());
    }
  }

  @Test
  default void carriesAThousandTransfersOfSeveralThreads() throws Exception {
    int threads = 4;
    int each = 250;
    int slot = 3000;
    int all = threads * each;
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local((long) all * slot);
        Memory remote = pair().remote((long) all * slot);
        ExecutorService executor = Executors.newFixedThreadPool(threads)) {
      local.paint(seed());
      remote.paint(seed());
      List<Transfer> transfers = new ArrayList<>();
      for (int i = 0; i < all; i++) {
        // A byte of each slot is left, as a guard.
        Copies copies = Copies.of(local, (long) i * slot, remote, (long) i * slot, slot - 1);
        copies.expect(Op.WRITE);
        transfers.add(
            pair().prepare(Op.WRITE, copies).notification(ByteBuffer.allocate(4).putInt(i).array()));
      }
      List<Future<?>> posting = new ArrayList<>();
      for (int thread = 0; thread < threads; thread++) {
        List<Transfer> own = transfers.subList(thread * each, (thread + 1) * each);
        posting.add(executor.submit(() -> own.forEach(Transfer::post)));
      }
      join(posting);
      List<Future<?>> waiting = new ArrayList<>();
      for (int thread = 0; thread < threads; thread++) {
        List<Transfer> own = new ArrayList<>(transfers.subList(thread * each, (thread + 1) * each));
        Collections.reverse(own);
        waiting.add(executor.submit(() -> own.forEach(Ends::done)));
      }
      join(waiting);
      Set<Integer> heard = new HashSet<>();
      Set<Long> ids = new HashSet<>();
      for (int i = 0; i < all; i++) {
        InboundNotification next = inbox.next();
        heard.add(ByteBuffer.wrap(next.payload()).getInt());
        ids.add(next.transfer());
      }
      assertThat(heard).hasSize(all);
      assertThat(ids).hasSize(all);
      assertThat(inbox.waiting()).isZero();
      remote.verify("a thousand transfers");
    }
  }

  private static void join(List<Future<?>> tasks)
      throws InterruptedException, ExecutionException, TimeoutException {
    for (Future<?> task : tasks) {
      task.get(2 * Waits.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }
  }

  @Test
  default void callsBackOncePerPost() {
    try (Memory local = pair().local(1 << 20);
        Memory remote = pair().remote(1 << 20)) {
      AtomicInteger calls = new AtomicInteger();
      AtomicReference<@Nullable TransferEnd> seen = new AtomicReference<>();
      for (long size : new long[] {8, 1 << 20}) {
        Transfer transfer = pair().prepare(Op.WRITE, Copies.of(local, 0, remote, 0, size));
        transfer.onEnd(
            ended -> {
              seen.set(ended.end());
              calls.incrementAndGet();
            });
        for (int round = 1; round <= 50; round++) {
          int expected = round;
          calls.set(round - 1);
          seen.set(null);
          transfer.post();
          // Nobody helps: the end comes by itself.
          Waits.until("callback " + round + " of " + size + " bytes", () -> calls.get() == expected);
          assertThat(seen.get()).isEqualTo(new TransferEnd.Done());
          Ends.done(transfer);
          assertThat(calls).hasValue(round);
        }
        transfer.onEnd(null);
        Ends.run(transfer);
        assertThat(calls).hasValue(50);
      }
    }
  }

  @Test
  default void showsTheEndInEveryWay() {
    try (Memory local = pair().local(1 << 20);
        Memory remote = pair().remote(1 << 20)) {
      Copies copies = Copies.all(local, remote);
      Transfer transfer = pair().prepare(Op.READ, copies);
      assertThat(transfer.totalBytes()).isEqualTo(1 << 20);
      assertThat(transfer.end()).isNull();
      assertThat(transfer.id()).isZero();
      transfer.post();
      assertThat(transfer.id()).isNotZero();
      Ends.done(transfer);
      TransferEnd end = transfer.end();
      for (int i = 0; i < 10; i++) {
        assertThat(transfer.poll()).isTrue();
        assertThat(transfer.await(Duration.ZERO)).isTrue();
        assertThat(transfer.end()).isEqualTo(end);
        assertThat(transfer.acknowledgedBytes()).isEqualTo(transfer.totalBytes());
      }
    }
  }

  @Test
  default void refusesToPostWhatIsUnderWay() {
    try (Memory local = pair().local(1 << 20);
        Memory remote = pair().remote(1 << 20)) {
      Transfer busy = pair().link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      busy.timeout(Waits.PATIENCE).post();
      try {
        long id = busy.id();
        Ends.underWay(busy);
        long start = System.nanoTime();
        assertThat(busy.await(Duration.ofMillis(100))).isFalse();
        assertThat(Duration.ofNanos(System.nanoTime() - start))
            .isBetween(Duration.ofMillis(95), Duration.ofMillis(100).plus(Waits.MARGIN));
        assertThatThrownBy(busy::post).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> busy.postAndAwait(Duration.ofMillis(1))).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> busy.notification(new byte[1])).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> busy.timeout(Duration.ofSeconds(1))).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> busy.flush(true)).isInstanceOf(IllegalStateException.class);
        assertThat(busy.id()).isEqualTo(id);
        // What was refused disturbed nothing: others still go through beside it.
        Ends.run(pair().prepare(Op.READ, Copies.of(local, 0, remote, 0, 100)));
        assertThat(busy.end()).isNull();
      } finally {
        busy.cancel();
      }
      assertThat(Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), busy)).isEqualTo(new TransferEnd.Cancelled());
    }
  }

  @Test
  default void smallOnesGetThroughBesideALargeOne() {
    try (Memory local = pair().local(1 << 20);
        Memory remote = pair().remote(1 << 20)) {
      Transfer large = pair().link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      large.timeout(Waits.PATIENCE.multipliedBy(2)).post();
      try {
        Ends.underWay(large);
        Duration soon = Waits.PATIENCE.dividedBy(4);
        for (int i = 0; i < 10; i++) {
          for (Op op : Op.values()) {
            for (Priority priority : Priority.values()) {
              Transfer small = pair().prepare(op, Copies.of(local, 0, remote, 0, 100));
              small.priority(priority).post();
              assertThat(Ends.within(soon, small)).as("%s %s of 100 bytes", priority, op)
                  .isEqualTo(new TransferEnd.Done());
            }
          }
        }
        assertThat(large.end()).as("the large one").isNull();
      } finally {
        large.cancel();
      }
      assertThat(Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), large)).isEqualTo(new TransferEnd.Cancelled());
    }
  }

  @Test
  default void reportsItsPaths() {
    Link link = pair().link();
    assertThat(link.peer()).isEqualTo(pair().target().name());
    assertThat(link.peerEpoch()).isEqualTo(pair().target().engine().epoch());
    assertThat(pair().initiator().engine().connect(pair().target().description())).isSameAs(link);
    List<PathReport> before = link.paths();
    assertThat(before)
        .isNotEmpty()
        .allSatisfy(path -> assertThat(path.transport()).isEqualTo(fixture().transport()));
    if (fixture().pathsPerRoute() > 0) {
      assertThat(before).hasSizeGreaterThanOrEqualTo(fixture().pathsPerRoute());
      Waits.until(
          Waits.PATIENCE, () -> "every path is up: " + link.paths(),
          () -> link.paths().stream().allMatch(PathReport::up));
    }
    try (Memory local = pair().local(16 << 20);
        Memory remote = pair().remote(16 << 20)) {
      long carried = acknowledged(link);
      Transfer transfer = pair().prepare(Op.WRITE, Copies.all(local, remote));
      Ends.run(transfer);
      Waits.until(
          Waits.PATIENCE,
          () -> "the paths report 16 MiB more than " + carried + ": " + link.paths(),
          () -> acknowledged(link) >= carried + (16 << 20));
      if (fixture().pathsPerRoute() > 1) {
        // One transfer is not bound to one path.
        assertThat(link.paths().stream().filter(path -> path.bytesAcknowledged() > 0)).hasSizeGreaterThan(1);
      }
    }
  }

  private static long acknowledged(Link link) {
    return link.paths().stream().mapToLong(PathReport::bytesAcknowledged).sum();
  }
}
