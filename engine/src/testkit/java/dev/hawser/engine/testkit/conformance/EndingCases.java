/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.GrantCheck;
import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cancelled;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Done;
import dev.hawser.engine.TransferEnd.Failed;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.memory.Access;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionInUseException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Cancel, deadlines, grants and closing: one end, in time, and no byte behind it. */
interface EndingCases extends Cases {
  int LARGE = 1 << 20;

  @Test
  default void cancelsALargeWrite() {
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local(LARGE);
        Memory remote = pair().remote(LARGE)) {
      local.paint(seed());
      Transfer write = pair().link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      write.timeout(Waits.PATIENCE).notification(new byte[] {1}).requestId("to be cancelled");
      for (int round = 0; round < 3; round++) {
        write.post();
        Ends.underWay(write);
        write.cancel();
        assertThat(Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), write)).isEqualTo(new Cancelled());
        Inbox.Aborted told = inbox.awaitAborted(pair().initiator().name(), write.id());
        assertThat(told.requestId()).isEqualTo("to be cancelled");
        // From here on the target may use its memory for something else.
        remote.paint(seed());
        remote.watch("after the target was told of the abort", Waits.WATCH);
        Ends.settled(write, RemoteState.ABORTED);
        local.awaitUnused();
        write.cancel();
        assertThat(write.end()).isEqualTo(new Cancelled());
      }
      assertThat(inbox.waiting()).as("notifications of what was cancelled").isZero();
      Ends.run(pair().prepare(Op.WRITE, Copies.all(local, remote)));
    }
  }

  @Test
  default void cancelsALargeRead() {
    try (Memory local = pair().local(LARGE);
        Memory remote = pair().remote(LARGE)) {
      remote.paint(seed());
      Transfer read = pair().link().prepare(Op.READ, Copies.endless(local, remote.remote()));
      read.timeout(Waits.PATIENCE);
      for (int round = 0; round < 3; round++) {
        read.post();
        Ends.underWay(read);
        read.cancel();
        assertThat(Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), read)).isEqualTo(new Cancelled());
        local.paint(seed());
        local.watch("after a cancelled read has ended", Waits.WATCH);
        local.awaitUnused();
      }
      Copies copies = Copies.all(local, remote);
      copies.expect(Op.READ);
      Ends.run(pair().prepare(Op.READ, copies));
      copies.verify("read after cancelled ones");
    }
  }

  /** What still comes of it goes nowhere, and what came behind it on the same path is right. */
  @Test
  default void aCancelledReadHarmsNoOther() {
    try (Memory local = pair().local(LARGE);
        Memory beside = pair().local(LARGE);
        Memory remote = pair().remote(LARGE)) {
      remote.paint(seed());
      Transfer read = pair().link().prepare(Op.READ, Copies.endless(local, remote.remote()));
      read.timeout(Waits.PATIENCE);
      Copies copies = Copies.all(beside, remote);
      Transfer other = pair().prepare(Op.READ, copies);
      for (int round = 0; round < 5; round++) {
        beside.paint(seed());
        copies.expect(Op.READ);
        read.post();
        Ends.underWay(read);
        other.post();
        read.cancel();
        assertThat(Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), read)).isEqualTo(new Cancelled());
        local.paint(seed());
        Ends.done(other);
        copies.verify("read beside a cancelled one");
        local.watch("after a cancelled read has ended", Waits.WATCH);
      }
    }
  }

  @Test
  default void cancelBeforeAndAfterDoesNothing() {
    Inbox inbox = pair().target().inbox();
    try (Memory local = pair().local(4096);
        Memory remote = pair().remote(4096)) {
      Copies copies = Copies.all(local, remote);
      Transfer write = pair().prepare(Op.WRITE, copies).notification(new byte[] {5});
      write.cancel();
      assertThat(write.end()).as("the end of what was never posted").isNull();
      for (int round = 0; round < 3; round++) {
        local.paint(seed());
        copies.expect(Op.WRITE);
        Ends.run(write);
        write.cancel();
        assertThat(write.end()).isEqualTo(new Done());
        assertThat(inbox.next().payload()).containsExactly(5);
        copies.verify("cancelled after its end");
        Ends.settled(write, RemoteState.DELIVERED);
      }
    }
  }

  @Test
  default void cancelsWhatCouldNotStart() {
    Link nowhere = unreachable("nowhere-cancel");
    try (Memory local = pair().local(4096);
        Memory remote = pair().remote(4096)) {
      Transfer write = nowhere.prepare(Op.WRITE, Copies.all(local, remote).plan());
      write.timeout(Waits.PATIENCE).notification(new byte[] {1});
      write.post();
      assertThat(write.await(Duration.ofMillis(50))).isFalse();
      write.cancel();
      assertThat(Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), write)).isEqualTo(new Cancelled());
      local.awaitUnused();
    } finally {
      nowhere.close();
    }
  }

  @Test
  default void cancelAtAnyMomentIsAllOrNothing() {
    Inbox inbox = pair().target().inbox();
    Random random = new Random(seed());
    int rounds = 60;
    Set<Integer> done = new HashSet<>();
    int begun = 0;
    try (Memory local = pair().local(LARGE);
        Memory remote = pair().remote(LARGE)) {
      for (int round = 0; round < rounds; round++) {
        Transfer write =
            pair()
                .link()
                .prepare(Op.WRITE, Copies.repeated(local.region(), remote.remote(), 1 << random.nextInt(7)))
                .timeout(Waits.PATIENCE)
                .notification(ByteBuffer.allocate(4).putInt(round).array());
        // From before its first byte to behind its last.
        long moment = Math.max(0, random.nextLong(-write.totalBytes() / 4, write.totalBytes() * 5 / 4));
        write.post();
        Waits.spin(() -> write.end() != null || write.acknowledgedBytes() >= moment);
        write.cancel();
        TransferEnd end = Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), write);
        boolean delivered =
            switch (end) {
              case Done() -> {
                Ends.settled(write, RemoteState.DELIVERED);
                yield true;
              }
              case Cancelled() -> {
                begun += write.acknowledgedBytes() > 0 ? 1 : 0;
                // Also if the target has never heard of it.
                Ends.settled(write, RemoteState.ABORTED);
                yield false;
              }
              // Behind the point of no return, and no answer within the drain time: the target says later.
              case Failed failed -> {
                assertThat(failed.notified()).as("%s", failed).isEqualTo(Notified.UNKNOWN);
                assertThat(failed.cause()).as("%s", failed).isEqualTo(Cause.CANCELLED);
                Ends.settled(write, RemoteState.DELIVERED, RemoteState.ABORTED);
                yield write.remoteSettled() == RemoteState.DELIVERED;
              }
            };
        if (delivered) {
          done.add(round);
        }
      }
      Set<Integer> heard = new HashSet<>();
      for (int i = 0; i < done.size(); i++) {
        heard.add(ByteBuffer.wrap(inbox.next().payload()).getInt());
      }
      assertThat(heard).isEqualTo(done);
      // A notification of a last round would have come before the one of this.
      Ends.run(pair().prepare(Op.WRITE, Copies.all(local, remote)).notification(new byte[4]));
      inbox.next();
      assertThat(inbox.waiting()).isZero();
      assertThat(begun).as("how often cancel came in the middle").isPositive();
      assertThat(done).as("how often it came too late").isNotEmpty();
    }
  }

  @Test
  default void endsAtItsDeadline() {
    Inbox inbox = pair().target().inbox();
    Duration timeout = Duration.ofMillis(150);
    try (Memory local = pair().local(LARGE);
        Memory remote = pair().remote(LARGE)) {
      for (Op op : Op.values()) {
        Transfer transfer = pair().link().prepare(op, Copies.endless(local, remote.remote()));
        transfer.timeout(timeout).notification(new byte[] {1}).requestId("too slow");
        long start = System.nanoTime();
        transfer.post();
        Failed failed =
            Ends.failed(
                timeout.plus(AgentSetup.DRAIN).plus(Waits.MARGIN), transfer, pair().link(), Cause.DEADLINE_EXCEEDED);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(timeout.minusMillis(5));
        assertThat(failed.notified()).isEqualTo(Notified.NO);
        assertThat(failed.message()).as("names the request").contains("too slow");
        if (op == Op.WRITE) {
          inbox.awaitAborted(pair().initiator().name(), transfer.id());
          remote.paint(seed());
          remote.watch("after the target was told of the abort", Waits.WATCH);
        }
        local.paint(seed());
        local.watch("after the deadline of a " + op, Waits.WATCH);
      }
      assertThat(inbox.waiting()).isZero();
      Ends.run(pair().prepare(Op.WRITE, Copies.all(local, remote)));
    }
  }

  @Test
  default void endsAtItsDeadlineWithoutAnyPath() {
    Link nowhere = unreachable("nowhere-deadline");
    Duration timeout = Duration.ofMillis(400);
    try (Memory local = pair().local(4096);
        Memory remote = pair().remote(4096)) {
      Transfer write = nowhere.prepare(Op.WRITE, Copies.all(local, remote).plan()).timeout(timeout);
      write.post();
      Failed failed =
          Ends.failed(timeout.plus(Waits.MARGIN), write, nowhere, Cause.DEADLINE_EXCEEDED, Cause.PEER_LOST);
      assertThat(failed.message()).as("says why no path is up").contains("127.0.0.1:1");
      assertThat(failed.notified()).isEqualTo(Notified.NO);
      local.awaitUnused();
    } finally {
      nowhere.close();
    }
  }

  /** A link to a port where nobody listens: 1 is reserved, and taken by nothing. */
  private Link unreachable(String name) {
    return pair()
        .initiator()
        .engine()
        .connect(
            new PeerDescription(
                name, 1, List.of("127.0.0.1:1"), pair().target().engine().transportDescriptions()));
  }

  @Test
  default void readsUnderAGrant() {
    long generation = 0x1122334455667788L;
    try (Memory local = pair().local(LARGE);
        Memory remote = pair().remote(LARGE);
        Memory words = pair().target().memory(64, Access.REMOTE_READ)) {
      ValueLayout.OfLong word = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
      words.bytes().set(word, 24, generation);
      GrantCheck grant = new GrantCheck(words.remote(), words.address() + 24, generation);
      Copies copies = Copies.all(local, remote);
      Transfer read = pair().prepare(Op.READ, copies).grant(grant);
      for (int round = 0; round < 20; round++) {
        local.paint(seed());
        remote.paint(seed());
        copies.expect(Op.READ);
        Ends.run(read);
        copies.verify("read under a grant");
      }

      words.bytes().set(word, 24, generation + 1);
      read.post();
      Failed stale = Ends.failed(Waits.PATIENCE, read, pair().link(), Cause.STALE);
      assertThat(stale.notified()).isEqualTo(Notified.NO);

      // A new grant of the same blocks holds, and so does a plain read; the old one stays stale.
      Ends.run(read.grant(new GrantCheck(words.remote(), words.address() + 24, generation + 1)));
      Ends.run(read.grant(null));
      read.grant(grant).notification(new byte[] {1}).post();
      Ends.failed(Waits.PATIENCE, read, pair().link(), Cause.STALE);
      assertThat(pair().target().inbox().waiting()).as("notifications of stale reads").isZero();

      // Only one byte differs, the highest.
      words.bytes().set(word, 24, generation ^ 0x8000000000000000L);
      read.post();
      Ends.failed(Waits.PATIENCE, read, pair().link(), Cause.STALE);
    }
  }

  @Test
  default void seesAGrantThatEndsDuringTheRead() {
    try (Memory local = pair().local(LARGE);
        Memory remote = pair().remote(LARGE);
        Memory words = pair().target().memory(64, Access.REMOTE_READ)) {
      ValueLayout.OfLong word = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
      words.bytes().set(word, 0, 7);
      GrantCheck grant = new GrantCheck(words.remote(), words.address(), 7);
      // Long enough to be seen in the middle, short enough to end by itself.
      Transfer read =
          pair()
              .link()
              .prepare(Op.READ, Copies.repeated(local.region(), remote.remote(), 200))
              .timeout(Waits.PATIENCE)
              .grant(grant);
      read.post();
      Ends.underWay(read);
      words.bytes().set(word, 0, 8);
      Ends.failed(Waits.PATIENCE, read, pair().link(), Cause.STALE);
    }
  }

  @Test
  default void failsWhatIsUnderWayWhenTheLinkIsClosed() {
    for (Op op : Op.values()) {
      try (Pair pair = Pair.start(fixture());
          Memory local = pair.local(LARGE);
          Memory remote = pair.remote(LARGE)) {
        Transfer transfer = pair.link().prepare(op, Copies.endless(local, remote.remote()));
        transfer.timeout(Waits.PATIENCE).post();
        Ends.underWay(transfer);
        pair.link().close();
        Ends.failed(Waits.MARGIN, transfer, pair.link(), Cause.CLOSED);
        local.paint(seed());
        local.watch("after the link was closed", Waits.WATCH);
        local.awaitUnused();
        // It says CLOSE: the target need not wait for its lease.
        pair.target().inbox().awaitLost(pair.initiator().name(), Waits.MARGIN);
        remote.paint(seed());
        remote.watch("after the target was told that the session is over", Waits.WATCH);
        assertThat(pair.link().state()).isEqualTo(Link.State.CLOSED);
        assertThatThrownBy(transfer::post)
            .isInstanceOf(LinkException.class)
            .hasMessageContaining(pair.target().name());
        pair.link().close();

        // Nothing is held against the peer.
        Link again = pair.initiator().engine().connect(pair.target().description());
        again.awaitUp(Waits.PATIENCE);
        Copies copies = Copies.all(local, remote);
        copies.expect(op);
        Ends.run(again.prepare(op, copies.plan()).timeout(Waits.PATIENCE).flush(op == Op.WRITE));
        copies.verify("after the link was closed and made again");
      }
    }
  }

  @Test
  default void failsWhatIsUnderWayWhenTheEngineIsClosed() {
    for (Op op : Op.values()) {
      try (Pair pair = Pair.start(fixture());
          Memory local = pair.local(LARGE);
          Memory remote = pair.remote(LARGE)) {
        Transfer transfer = pair.link().prepare(op, Copies.endless(local, remote.remote()));
        transfer.timeout(Waits.PATIENCE).post();
        Ends.underWay(transfer);
        pair.initiator().engine().close();
        Ends.failed(Waits.MARGIN, transfer, pair.link(), Cause.CLOSED);
        local.paint(seed());
        local.watch("after the engine was closed", Waits.WATCH);
        local.awaitUnused();
        Inbox.Lost lost = pair.target().inbox().awaitLost(pair.initiator().name(), Waits.MARGIN);
        assertThat(lost.peerEpoch()).isEqualTo(pair.initiator().engine().epoch());
        remote.paint(seed());
        remote.watch("after the target was told that its peer is gone", Waits.WATCH);
        assertThatThrownBy(transfer::post).isInstanceOf(LinkException.class);
        pair.initiator().engine().close();
      }
    }
  }

  @Test
  default void closingALocalRegionWaitsForItsTransfers() {
    try (Memory local = pair().local(LARGE);
        Memory remote = pair().remote(LARGE)) {
      Region part = local.part(0, LARGE, Access.LOCAL);
      Transfer own = pair().link().prepare(Op.READ, Copies.endless(part, remote.remote())).timeout(Waits.PATIENCE);
      own.post();
      Ends.underWay(own);
      boolean refused = false;
      try {
        part.close(Duration.ofMillis(100));
      } catch (RegionInUseException e) {
        refused = true;
        own.cancel();
      }
      // Refused as long as it is used, or drained; then it is its owner's.
      TransferEnd end = Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), own);
      if (refused) {
        assertThat(end).isEqualTo(new Cancelled());
      } else {
        assertThat(end).isInstanceOfSatisfying(
            Failed.class, failed -> assertThat(failed.cause()).isEqualTo(Cause.LOCAL_ACCESS));
      }
      assertThat(part.close(Waits.MARGIN).quarantined()).isFalse();
      local.paint(seed());
      local.watch("after its region was closed", Waits.WATCH);
    }
  }
}
