/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Failed;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.memory.BlockList;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The target hears of a transfer once, behind all its data, and in the bounds of its credits. */
interface NotificationCases extends Cases {

  @Test
  default void notifiesBehindTheData() {
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local(4 << 20);
        Memory remote = pair().remote(4 << 20)) {
      int blocks = 1024;
      BlockList from = BlockList.strided(local.address(), 4096, 4000, blocks);
      BlockList to = BlockList.strided(remote.address() + 4096L * (blocks - 1), -4096, 4000, blocks);
      List<Copies> shapes =
          List.of(
              Copies.of(local, 5, remote, 9, 1),
              Copies.of(local, 0, remote, 64, 100_000),
              Copies.all(local, remote),
              Copies.of(local, from, remote, to));
      int rounds = 12;
      for (Copies copies : shapes) {
        Transfer transfer = pair().prepare(Op.WRITE, copies);
        for (int round = 0; round < rounds; round++) {
          local.paint(seed());
          remote.paint(seed());
          copies.expect(Op.WRITE);
          inbox.atArrival(notification -> remote.verify("at the moment of the notification"));
          byte[] payload = ("round " + round).getBytes(StandardCharsets.UTF_8);
          transfer.notification(payload);
          transfer.post();
          InboundNotification arrived = inbox.next();
          assertThat(arrived.payload()).isEqualTo(payload);
          Ends.done(transfer);
          assertThat(arrived.transfer()).isEqualTo(transfer.id());
          Ends.settled(transfer, RemoteState.DELIVERED);
          inbox.check();
        }
      }
      assertThat(inbox.waiting()).as("notifications too many").isZero();
    }
  }

  @Test
  default void carriesEveryPayload() {
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local(4096);
        Memory remote = pair().remote(4096)) {
      Transfer transfer = pair().prepare(Op.WRITE, Copies.of(local, 0, remote, 0, 0));
      assertThat(transfer.totalBytes()).isZero();
      for (int size : new int[] {0, 1, 3, 100, Transfer.MAX_NOTIFICATION_BYTES - 1, Transfer.MAX_NOTIFICATION_BYTES}) {
        byte[] payload = new byte[size];
        for (int i = 0; i < size; i++) {
          payload[i] = (byte) (i * 31 + size);
        }
        byte[] given = payload.clone();
        transfer.notification(given);
        if (size > 0) {
          given[0]++; // the engine has its own copy
        }
        Ends.run(transfer);
        assertThat(inbox.next().payload()).as("payload of %s bytes", size).isEqualTo(payload);
      }
      assertThatThrownBy(() -> transfer.notification(new byte[Transfer.MAX_NOTIFICATION_BYTES + 1]))
          .isInstanceOf(RuntimeException.class)
          .hasMessageMatching("(?s).*(4096|4 ?KiB|4,096|4097).*");
      // What was refused changed nothing; without a payload there is nothing to hear.
      transfer.notification(null);
      Ends.run(transfer);
      transfer.notification(new byte[] {42});
      Ends.run(transfer);
      assertThat(inbox.next().payload()).containsExactly(42);
      assertThat(inbox.waiting()).isZero();
    }
  }

  @Test
  default void saysWhoseTransferItIs() {
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local(4096);
        Memory remote = pair().remote(4096)) {
      String longest = "0123456789abcdef".repeat(3) + "€uro-56789abcd"; // 64 bytes in UTF-8
      assertThat(longest.getBytes(StandardCharsets.UTF_8)).hasSize(64);
      Transfer transfer = pair().prepare(Op.WRITE, Copies.all(local, remote)).notification(new byte[] {1});
      Set<Long> ids = new HashSet<>();
      for (String requestId : new String[] {"request-1", longest, ""}) {
        transfer.requestId(requestId);
        Ends.run(transfer);
        InboundNotification arrived = inbox.next();
        assertThat(arrived.peer()).isEqualTo(pair().initiator().name());
        assertThat(arrived.peerEpoch()).isEqualTo(pair().initiator().engine().epoch());
        assertThat(arrived.transfer()).isEqualTo(transfer.id());
        assertThat(ids.add(arrived.transfer())).as("a number of its own for each post").isTrue();
        if (requestId.isEmpty()) {
          assertThat(arrived.requestId()).isIn("", null);
        } else {
          assertThat(arrived.requestId()).isEqualTo(requestId);
        }
      }
      transfer.requestId(null);
      Ends.run(transfer);
      assertThat(inbox.next().requestId()).isNull();
      assertThatThrownBy(() -> transfer.requestId(longest + "x"))
          .isInstanceOf(RuntimeException.class)
          .hasMessageContaining("64");
    }
  }

  @Test
  default void countsInAnyOrder() {
    Inbox inbox = pair().target().inbox();
    int transfers = 48;
    int rounds = 5;
    int bytes = 20_000;
    try (Memory local = pair().local((long) transfers * bytes);
        Memory remote = pair().remote((long) transfers * bytes)) {
      local.paint(seed());
      List<Transfer> all = new ArrayList<>();
      for (int i = 0; i < transfers; i++) {
        Copies copies = Copies.of(local, (long) i * bytes, remote, (long) i * bytes, bytes);
        all.add(pair().prepare(Op.WRITE, copies).count(i % 2 == 0 ? 7L : -1L).requestId("layer-" + i));
      }
      for (int round = 1; round <= rounds; round++) {
        all.forEach(Transfer::post);
        long expected = (long) round * transfers / 2;
        assertThat(
            pair()
                .target()
                .engine()
                .await(
                    () -> inbox.arrivals(7) >= expected && inbox.arrivals(-1) >= expected, Waits.PATIENCE))
            .as("all arrivals of round %s; there are %s and %s", round, inbox.arrivals(7), inbox.arrivals(-1))
            .isTrue();
        all.forEach(Ends::done);
        assertThat(inbox.arrivals(7)).isEqualTo(expected);
        assertThat(inbox.arrivals(-1)).isEqualTo(expected);
      }
      Copies.all(local, remote).expect(Op.WRITE);
      remote.verify("counted writes");
      assertThat(inbox.counted())
          .hasSize(rounds * transfers)
          .allSatisfy(
              counted -> {
                assertThat(counted.peer()).isEqualTo(pair().initiator().name());
                assertThat(counted.peerEpoch()).isEqualTo(pair().initiator().engine().epoch());
                assertThat(counted.requestId()).startsWith("layer-");
              });
      assertThat(inbox.waiting()).as("a count is no notification").isZero();
    }
  }

  @Test
  default void countsBehindTheData() {
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local(1 << 20);
        Memory remote = pair().remote(1 << 20)) {
      Copies copies = Copies.all(local, remote);
      Transfer transfer = pair().prepare(Op.WRITE, copies).count(3L);
      inbox.atCount(() -> remote.verify("at the moment of the count"));
      for (int round = 1; round <= 20; round++) {
        int arrivals = round;
        local.paint(seed());
        remote.paint(seed());
        copies.expect(Op.WRITE);
        Ends.run(transfer);
        Waits.until("arrival " + round, () -> inbox.arrivals(3) == arrivals);
        inbox.check();
      }
    }
  }

  @Test
  default void flushMakesVisible() {
    try (Memory local = pair().local(3 << 20);
        Memory remote = pair().remote(3 << 20)) {
      Copies copies = Copies.all(local, remote);
      Transfer transfer = pair().prepare(Op.WRITE, copies).flush(true);
      for (int round = 0; round < 20; round++) {
        local.paint(seed());
        remote.paint(seed());
        copies.expect(Op.WRITE);
        Ends.run(transfer);
        copies.verify("flushed, round " + round);
        Ends.settled(transfer, RemoteState.DELIVERED);
      }
      transfer.flush(false);
      Ends.run(transfer);
      Ends.settled(transfer, RemoteState.NOT_APPLICABLE);
      Transfer read = pair().prepare(Op.READ, copies);
      Ends.run(read);
      Ends.settled(read, RemoteState.NOT_APPLICABLE);
      assertThat(pair().target().inbox().waiting()).isZero();
    }
  }

  @Test
  default void notifiesOfReads() {
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local(1 << 20);
        Memory remote = pair().remote(1 << 20)) {
      Copies copies = Copies.all(local, remote);
      Transfer read = pair().prepare(Op.READ, copies).notification("taken".getBytes(StandardCharsets.UTF_8));
      inbox.atArrival(notification -> local.verify("at the initiator, when the target hears of the read"));
      for (int round = 0; round < 20; round++) {
        local.paint(seed());
        remote.paint(seed());
        copies.expect(Op.READ);
        Ends.run(read);
        copies.verify("read, round " + round);
        assertThat(inbox.next().transfer()).isEqualTo(read.id());
        inbox.check();
      }
    }
  }

  @Test
  default void stopsAtTheTargetsCredits() {
    int credits = 8;
    AgentSetup target = AgentSetup.of(fixture(), "target").credits(credits);
    try (Pair pair = Pair.start(AgentSetup.of(fixture(), "initiator"), target);
        Memory local = pair.local(4096);
        Memory remote = pair.remote(4096)) {
      Inbox inbox = pair.target().inbox();
      inbox.consume(false);
      Copies copies = Copies.all(local, remote);
      List<InboundNotification> held = new ArrayList<>();
      for (int i = 0; i < credits; i++) {
        Ends.run(pair.prepare(Op.WRITE, copies).notification(new byte[] {(byte) i}));
        held.add(inbox.next());
      }

      Transfer tooMany = pair.prepare(Op.WRITE, copies).notification(new byte[] {99}).timeout(Duration.ofMillis(300));
      long start = System.nanoTime();
      tooMany.post();
      // What needs no credit goes on meanwhile.
      Ends.run(pair.prepare(Op.WRITE, copies));
      Ends.run(pair.prepare(Op.READ, copies));
      Failed failed =
          Ends.failed(
              Duration.ofMillis(300).plus(Waits.MARGIN), tooMany, pair.link(), Cause.NOTIFICATION_BACKLOG);
      assertThat(failed.notified()).isEqualTo(Notified.NO);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(290));
      Ends.settled(tooMany, RemoteState.ABORTED);

      List<Transfer> waiting = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        Transfer transfer = pair.prepare(Op.WRITE, copies).notification(new byte[] {(byte) (credits + i)});
        transfer.post();
        waiting.add(transfer);
      }
      assertThat(waiting.getFirst().await(Duration.ofMillis(100))).as("ended without credit").isFalse();
      assertThat(inbox.waiting()).isZero();
      held.getFirst().consumed();
      held.getFirst().consumed(); // idempotent: gives one credit, not two
      // At once, and not with the next sign of life.
      Waits.until(
          Duration.ofSeconds(1),
          () -> "one goes on for the credit that was given back",
          () -> waiting.stream().anyMatch(Transfer::poll));
      assertThat(waiting.stream().filter(Transfer::poll)).hasSize(1);
      List<Transfer> still = waiting.stream().filter(transfer -> transfer.end() == null).toList();
      assertThat(still).as("those without credit").hasSize(2);
      assertThat(still.getFirst().await(Duration.ofMillis(50))).as("a second one goes on for the same credit")
          .isFalse();
      held.forEach(InboundNotification::consumed);
      waiting.forEach(Ends::done);
      Set<Integer> got = new HashSet<>();
      for (int i = 0; i < waiting.size(); i++) {
        got.add((int) inbox.next().payload()[0]);
      }
      assertThat(got).containsExactlyInAnyOrder(credits, credits + 1, credits + 2);
      assertThat(inbox.waiting()).as("the one that failed is never delivered").isZero();
    }
  }
}
