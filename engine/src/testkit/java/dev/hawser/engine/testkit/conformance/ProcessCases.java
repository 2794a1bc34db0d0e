/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Failed;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/**
 * A peer in another process is killed or stopped in the middle: this side reports it within the link lease, by name, frees
 * everything, and no late byte lands in memory that is used again.
 */
interface ProcessCases extends Suite {
  Duration REPORTED = AgentSetup.SHORT_LEASE.plus(Waits.MARGIN);

  /** Longer than any test waits. */
  Duration LONG_LEASE = Duration.ofSeconds(60);

  /** On a machine that is busy with other things. */
  Duration AT_ONCE = Duration.ofSeconds(1);

  private LiveAgent here() {
    return LiveAgent.start(AgentSetup.of(fixture(), "here").lease(AgentSetup.SHORT_LEASE));
  }

  private static Transfer move(Op op, Link link, Memory local, Child child) {
    Transfer transfer = link.prepare(op, Copies.endless(local, child.card().region()));
    transfer.timeout(Waits.PATIENCE).notification("too late".getBytes(StandardCharsets.UTF_8)).post();
    return transfer;
  }

  private static Failed lost(Transfer transfer, Link link) {
    return lostWithin(REPORTED, transfer, link);
  }

  private static Failed lostWithin(Duration time, Transfer transfer, Link link) {
    Failed failed = Ends.failed(time, transfer, link, Cause.PEER_LOST);
    assertThat(failed.message()).contains(link.peer());
    return failed;
  }

  @Test
  default void reportsAPeerThatIsKilled() {
    try (Child child = Child.start(fixture());
        LiveAgent here = here();
        Pair others = Pair.start(fixture());
        Memory written = here.memory(OtherProcess.BYTES, Access.LOCAL);
        Memory read = here.memory(OtherProcess.BYTES, Access.LOCAL);
        Memory lent = here.memory(OtherProcess.BYTES, Access.REMOTE_READ_WRITE);
        Bystander bystander = new Bystander(others)) {
      Link link = here.engine().connect(child.card().peer());
      link.awaitUp(Waits.PATIENCE);
      child.tell("move WRITE " + new Card(here.description(), lent.remote()).encode(), "moving");
      Transfer write = move(Op.WRITE, link, written, child);
      Transfer reading = move(Op.READ, link, read, child);
      Ends.underWay(write);
      Ends.underWay(reading);

      child.kill();
      long killed = System.nanoTime();
      lost(write, link);
      lost(reading, link);
      // As initiator: everything is this side's again.
      read.paint(seed());
      written.awaitUnused();
      read.awaitUnused();
      assertThat(link.state()).isEqualTo(Link.State.CONNECTING);
      // As target: told within the lease, and the memory is free.
      Inbox.Lost told = here.inbox().awaitLost(child.name(), REPORTED.minusNanos(System.nanoTime() - killed));
      assertThat(told.peerEpoch()).isEqualTo(child.card().peer().epoch());
      lent.paint(seed());
      lent.awaitUnused();
      lent.watch("after its peer was killed", Waits.WATCH);
      read.verify("after its peer was killed");
      assertThat(here.inbox().waiting()).isZero();
      bystander.goesOn();
    }
  }

  /**
   * Where the kernel of this host tells that the process has ended, nothing waits for a lease; and what is posted then ends
   * well nowhere, though the memory of the dead can still be written to where it is mapped.
   */
  @Test
  default void failsWhatIsPostedToAPeerThatIsDead() {
    Duration lease = fixture().mapped() ? LONG_LEASE : AgentSetup.SHORT_LEASE;
    Duration within = fixture().mapped() ? AT_ONCE : REPORTED;
    try (Child child = Child.start(fixture());
        LiveAgent here = LiveAgent.start(AgentSetup.of(fixture(), "here").lease(lease));
        Memory local = here.memory(OtherProcess.BYTES, Access.LOCAL)) {
      Link link = here.engine().connect(child.card().peer());
      link.awaitUp(Waits.PATIENCE);
      Transfer large = link.prepare(Op.WRITE, Copies.repeated(local.region(), child.card().region(), 1));
      Transfer small = link.prepare(Op.WRITE, small(local, child));
      Ends.run(large.timeout(Waits.PATIENCE)); // whatever is opened or mapped for the first time
      Ends.run(small.timeout(Waits.PATIENCE));

      child.kill();
      small.post();
      lostWithin(within, small, link);
      if (fixture().mapped()) {
        large.post();
        lostWithin(AT_ONCE, large, link);
        small.post();
        assertThat(lostWithin(AT_ONCE, small, link).message()).contains(child.card().peer().name());
      }
      local.awaitUnused();
    }
  }

  private static TransferPlan small(Memory local, Child child) {
    return new TransferPlan(
        BlockPairs.of(BlockList.of(local.address(), 8), BlockList.of(child.card().region().address(), 8)),
        new Region[] {local.region()},
        new RemoteRegion[] {child.card().region()});
  }

  /**
   * What a process has not processed when it is killed is not promised to be delivered; where a NIC acknowledges, it is,
   * unless the process ends first.
   */
  @Test
  default void promisesNothingOfATargetThatIsKilled() {
    try (Child child = Child.start(fixture());
        LiveAgent here = here();
        Memory local = here.memory(OtherProcess.BYTES, Access.LOCAL)) {
      Link link = here.engine().connect(child.card().peer());
      link.awaitUp(Waits.PATIENCE);
      TransferPlan once = Copies.repeated(local.region(), child.card().region(), 1);
      Transfer write = link.prepare(Op.WRITE, once).timeout(Waits.PATIENCE);
      Ends.run(write); // whatever is opened or mapped for the first time
      write.notification("too late".getBytes(StandardCharsets.UTF_8));

      child.stop();
      write.post();
      if (fixture().checkedByHardware()) {
        // The NIC acknowledges for its process, which delivers what came once it goes on; but this one ends first.
        write.await(REPORTED);
        child.assertStopped();
        child.kill();
        if (!(write.end() instanceof TransferEnd.Done)) {
          assertThat(lost(write, link).notified()).isIn(Notified.UNKNOWN, Notified.NO);
        }
      } else {
        Waits.during(
            AgentSetup.SHORT_LEASE.dividedBy(4),
            () -> assertThat(write.poll()).as("promised by a process that is stopped: %s", write.end()).isFalse());
        child.kill();
        assertThat(lost(write, link).notified()).isIn(Notified.UNKNOWN, Notified.NO);
      }
      local.awaitUnused();
    }
  }

  @Test
  default void reportsATargetThatIsStopped() {
    try (Child child = Child.start(fixture());
        LiveAgent here = here();
        Memory written = here.memory(OtherProcess.BYTES, Access.LOCAL);
        Memory read = here.memory(OtherProcess.BYTES, Access.LOCAL)) {
      Link link = here.engine().connect(child.card().peer());
      link.awaitUp(Waits.PATIENCE);
      Transfer write = move(Op.WRITE, link, written, child);
      Transfer reading = move(Op.READ, link, read, child);
      Ends.underWay(write);
      Ends.underWay(reading);

      child.stop();
      lost(write, link);
      lost(reading, link);
      child.assertStopped();
      written.awaitUnused();
      read.awaitUnused();
      read.paint(seed());
      read.watch("while its peer is stopped", Waits.WATCH);

      child.goOn();
      read.watch("after its peer went on", Waits.WATCH.multipliedBy(3));
      // The other side hears of it, and has its memory back, too.
      child.tell("lost " + here.name(), "lost");
      // Nothing is held against it.
      link.awaitUp(Waits.PATIENCE);
      TransferPlan once = Copies.repeated(written.region(), child.card().region(), 1);
      Ends.run(link.prepare(Op.WRITE, once).timeout(Waits.PATIENCE).flush(true));
      child.end();
    }
  }

  @Test
  default void leavesNothingOpenBehindAPeerThatIsStopped() {
    try (Child child = Child.start(fixture())) {
      Leaks before = Leaks.now();
      try (LiveAgent here = here();
          Memory written = here.memory(OtherProcess.BYTES, Access.LOCAL);
          Memory lent = here.memory(OtherProcess.BYTES, Access.REMOTE_READ_WRITE)) {
        Link link = here.engine().connect(child.card().peer());
        link.awaitUp(Waits.PATIENCE);
        Transfer write = move(Op.WRITE, link, written, child);
        Ends.underWay(write);
        if (!fixture().mapped()) { // there it may still store: what it may store to stays in quarantine
          child.tell("move WRITE " + new Card(here.description(), lent.remote()).encode(), "moving");
        }
        child.stop();
        here.engine().close();
        Ends.failed(Waits.MARGIN, write, link, Cause.CLOSED, Cause.PEER_LOST);
        child.assertStopped();
        written.awaitUnused();
        lent.awaitUnused();
      }
      child.assertStopped();
      Leaks.assertNoneSince(before);
    }
  }

  @Test
  default void reportsAnInitiatorThatIsStopped() {
    try (Child child = Child.start(fixture());
        LiveAgent here = here();
        Memory lent = here.memory(OtherProcess.BYTES, Access.REMOTE_READ_WRITE);
        Memory other = here.memory(OtherProcess.BYTES, Access.REMOTE_READ)) {
      child.tell("move WRITE " + new Card(here.description(), lent.remote()).encode(), "moving");
      child.tell("move READ " + new Card(here.description(), other.remote()).encode(), "moving");

      child.stop();
      if (fixture().mapped()) {
        // It may be in the middle of a store: until it lets go, the target must not say that memory is free.
        boolean fenced = here.engine().revoke(child.name(), "the blocks are needed", Duration.ofMillis(300));
        assertThat(fenced || here.inbox().isLost(child.name()))
            .as("a stopped process that stores by itself counts as fenced")
            .isFalse();
        Waits.during(
            AgentSetup.SHORT_LEASE.multipliedBy(2),
            () -> assertThat(here.inbox().isLost(child.name())).as("freed while its peer may still store").isFalse());
        child.goOn();
        here.inbox().awaitLost(child.name(), REPORTED);
        lent.paint(seed());
      } else {
        here.inbox().awaitLost(child.name(), REPORTED);
        child.assertStopped();
        lent.paint(seed());
        lent.awaitUnused();
        lent.watch("while its peer is stopped", Waits.WATCH);
        child.goOn();
      }
      lent.watch("after its peer went on", Waits.WATCH.multipliedBy(3));
      lent.awaitUnused();
      other.awaitUnused();
      String ends = child.tell("ends", "ends");
      assertThat(ends.split(" ", -1))
          .hasSize(3)
          .allMatch(
              end -> end.equals("ends")
                  || end.equals(Cause.SESSION_ENDED + ":" + here.name())
                  || end.equals(Cause.PEER_LOST + ":" + here.name()));
      lent.verify("after its peer has ended its transfers");
      assertThat(here.inbox().waiting()).isZero();

      // Nothing is held against it.
      child.tell("move WRITE " + new Card(here.description(), lent.remote()).encode(), "moving");
      child.kill();
      here.inbox().awaitLosses(child.name(), 2, REPORTED);
      lent.awaitUnused();
    }
  }
}
