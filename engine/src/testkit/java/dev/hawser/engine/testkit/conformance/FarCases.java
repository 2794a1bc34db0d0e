/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd.Cancelled;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Failed;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * The target is in another process, and where a lab says so on another host: what arrives there, and what its application is
 * told, is asked of it.
 */
interface FarCases extends Suite {
  int GUARD = 4096;
  int MIB = 1 << 20;
  List<Integer> SMALL_SIZES = List.of(0, 1, 3, 63, 511, 4095, 4096, 65_537);
  List<Integer> MEDIUM_SIZES = List.of(MIB);
  List<Integer> LARGE_SIZES = List.of(MIB, 16 * MIB);
  Duration SHORT_DEADLINE = Duration.ofMillis(400);

  /** The target's process, which all cases share. */
  Child child();

  /** An agent here with so many paths for each route, on these rails only. */
  private LiveAgent here(int paths, List<String> rails) {
    return LiveAgent.start(AgentSetup.of(fixture(), "near").lease(AgentSetup.SHORT_LEASE).ways(paths, rails));
  }

  private static Link up(LiveAgent here, Child child, int paths) {
    Link link = here.engine().connect(child.card().peer());
    link.awaitUp(Waits.PATIENCE);
    Waits.until(
        Waits.PATIENCE,
        () -> paths + " paths are up: " + link.paths(),
        () -> link.paths().stream().filter(Link.PathReport::up).count() >= paths);
    return link;
  }

  @Test
  default void movesEverySizeOnEveryNumberOfRailsAndPaths() {
    int number = 0;
    int choices = fixture().railChoices().size() * fixture().pathChoices().size();
    for (List<String> rails : fixture().railChoices()) {
      for (int paths : fixture().pathChoices()) {
        number++;
        try (LiveAgent here = here(paths, rails)) {
          Link link = up(here, child(), paths * Math.max(1, rails.size()));
          String ways = " on " + paths + " paths of rails " + rails;
          for (Op op : Op.values()) {
            move(op, here, link, SMALL_SIZES, ways);
            move(op, here, link, number == 1 || number == choices ? LARGE_SIZES : MEDIUM_SIZES, ways);
          }
          assertThat(link.paths()).as("paths on rails %s", rails).hasSizeGreaterThanOrEqualTo(paths * rails.size());
          for (String rail : rails) {
            assertThat(link.paths())
                .as("rail %s carried something", rail)
                .anyMatch(path -> path.rail().equals(rail) && path.bytesWritten() + path.bytesRead() > 0);
          }
        }
      }
    }
  }

  private void move(Op op, LiveAgent here, Link link, List<Integer> sizes, String ways) {
    int bytes = sizes.getLast() + 2 * GUARD;
    try (FarMemory far = FarMemory.of(child(), bytes);
        Memory near = here.memory(bytes, Access.LOCAL)) {
      for (int size : sizes) {
        move(op, link, near, far, size, op + " of " + size + " bytes" + ways);
      }
    }
  }

  private void move(Op op, Link link, Memory near, FarMemory far, int size, String what) {
    near.paint(seed());
    far.paint(seed());
    long here = GUARD + 7L;
    long there = GUARD + 1L;
    TransferPlan plan = far.plan(near, near.block(here, size), BlockList.of(far.address() + there, size));
    if (op == Op.WRITE) {
      far.expect(there, near.bytes().asSlice(here, size));
    } else {
      near.expect(near.address() + here, far.image().asSlice(there, size));
    }
    Ends.run(link.prepare(op, plan).timeout(Waits.PATIENCE).flush(op == Op.WRITE));
    near.verify(what + ", here");
    far.verify(what);
  }

  @Test
  default void movesShuffledBlocksThere() {
    int blocks = 1024;
    int block = 4096;
    try (LiveAgent here = here(fixture().pathChoices().getLast(), fixture().railChoices().getLast());
        FarMemory far = FarMemory.of(child(), 2L * blocks * block);
        Memory near = here.memory(2L * blocks * block, Access.LOCAL)) {
      Link link = up(here, child(), 1);
      for (Op op : Op.values()) {
        near.paint(seed());
        far.paint(seed());
        int[] from = shuffled(blocks);
        int[] to = shuffled(blocks);
        BlockList nearBlocks = BlockList.strided(near.address(), 2L * block, block, blocks);
        BlockList farBlocks = BlockList.strided(far.address() + block, 2L * block, block, blocks);
        for (int i = 0; i < blocks; i++) {
          long nearAt = 2L * block * from[i];
          long farAt = block + 2L * block * to[i];
          if (op == Op.WRITE) {
            far.expect(farAt, near.bytes().asSlice(nearAt, block));
          } else {
            near.expect(near.address() + nearAt, far.image().asSlice(farAt, block));
          }
        }
        TransferPlan plan =
            new TransferPlan(
                BlockPairs.of(nearBlocks, from, farBlocks, to),
                new Region[] {near.region()},
                new RemoteRegion[] {far.remote()});
        Ends.run(link.prepare(op, plan).timeout(Waits.PATIENCE).flush(op == Op.WRITE));
        near.verify(op + " of shuffled blocks, here");
        far.verify(op + " of shuffled blocks");
      }
    }
  }

  private int[] shuffled(int count) {
    List<Integer> all = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      all.add(i);
    }
    Collections.shuffle(all, new Random(seed()));
    return all.stream().mapToInt(Integer::intValue).toArray();
  }

  @Test
  default void notifiesOnceBehindTheDataThere() {
    int bytes = 100_000;
    try (LiveAgent here = here(fixture().pathChoices().getLast(), fixture().railChoices().getLast());
        FarMemory far = FarMemory.of(child(), bytes);
        Memory near = here.memory(bytes, Access.LOCAL)) {
      Link link = up(here, child(), 1);
      Transfer transfer = link.prepare(Op.WRITE, far.plan(near, near.all(), far.all())).timeout(Waits.PATIENCE);
      for (int i = 0; i < 20; i++) {
        near.paint(seed());
        far.expect(0, near.bytes());
        Ends.run(transfer.notification(("number " + i).getBytes(StandardCharsets.UTF_8)));
        child().tell("next", "next number " + i);
        far.verify("when it was told of transfer " + i);
      }
      child().tell("waiting", "waiting 0");
      Ends.settled(transfer, RemoteState.DELIVERED);
    }
  }

  @Test
  default void cancelsThere() {
    try (LiveAgent here = here(fixture().pathChoices().getFirst(), fixture().railChoices().getLast());
        FarMemory far = FarMemory.of(child(), MIB);
        Memory near = here.memory(MIB, Access.LOCAL)) {
      Link link = up(here, child(), 1);
      for (Op op : Op.values()) {
        Transfer transfer = link.prepare(op, Copies.endless(near, far.remote()));
        if (op == Op.WRITE) {
          transfer.notification(new byte[] {1});
        }
        transfer.timeout(Waits.PATIENCE).post();
        Ends.underWay(transfer);
        transfer.cancel();
        assertThat(Ends.within(AgentSetup.DRAIN.plus(Waits.MARGIN), transfer)).isEqualTo(new Cancelled());
        near.paint(seed());
        near.watch("after a cancelled transfer has ended", Waits.WATCH);
        if (op == Op.WRITE) {
          Ends.settled(transfer, RemoteState.ABORTED);
          child().tell("aborted " + here.name() + " " + transfer.id(), "aborted");
        }
        far.paint(seed());
        Waits.during(Waits.WATCH, () -> {});
        far.verify("after it was told of the abort");
        link.awaitUp(Waits.PATIENCE);
      }
      child().tell("waiting", "waiting 0");
      move(Op.WRITE, link, near, far, MIB - 2 * GUARD, "after cancelled transfers");
    }
  }

  @Test
  default void endsAtItsDeadline() {
    try (LiveAgent here = here(fixture().pathChoices().getFirst(), fixture().railChoices().getLast());
        FarMemory far = FarMemory.of(child(), MIB);
        Memory near = here.memory(MIB, Access.LOCAL)) {
      Link link = up(here, child(), 1);
      Transfer transfer =
          link.prepare(Op.WRITE, Copies.endless(near, far.remote())).timeout(SHORT_DEADLINE)
              .notification(new byte[] {1});
      transfer.post();
      Failed failed = Ends.failed(SHORT_DEADLINE.plus(Waits.MARGIN), transfer, link, Cause.DEADLINE_EXCEEDED);
      assertThat(failed.message()).contains(link.peer());
      Ends.settled(transfer, RemoteState.ABORTED);
      far.paint(seed());
      near.awaitUnused();
      Waits.during(Waits.WATCH, () -> {});
      far.verify("after the deadline");
      child().tell("waiting", "waiting 0");
    }
  }
}
