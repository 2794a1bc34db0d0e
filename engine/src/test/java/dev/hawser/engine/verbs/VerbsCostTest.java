/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.testkit.verbs.Counters;
import dev.hawser.engine.testkit.verbs.FakeDevice;
import dev.hawser.engine.testkit.verbs.FakeVerbs;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Region;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a device is asked to do for a transfer: doorbells, completions, registrations, places in its queues. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class VerbsCostTest {
  private static final int BLOCK = 4096;
  private static final int BLOCKS = 8192;

  private FakeVerbs verbs;
  private FakeDevice here;

  @BeforeEach
  void install() {
    verbs = new FakeVerbs(2);
    here = verbs.device(0);
    VerbsLibrary.install(VerbsLibrary.of("the fake libibverbs", verbs.symbols()));
  }

  @AfterEach
  void giveBack() {
    VerbsLibrary.install(null);
    assertThat(verbs.violations()).isEmpty();
    assertThat(verbs.leftovers()).isEmpty();
    verbs.close();
  }

  /** Blocks that lie apart on both sides, so that each is a request. */
  private static Transfer apart(FakePair pair, Op op, Region local, Region remote) {
    return pair.transfer(
        op,
        local,
        BlockList.strided(local.address(), 2L * BLOCK, BLOCK, BLOCKS),
        FakePair.known(remote),
        BlockList.strided(remote.address() + BLOCK, 2L * BLOCK, BLOCK, BLOCKS));
  }

  @Test
  void aLongListRingsFewDoorbellsAndIsRarelySignalled() {
    for (Op op : Op.values()) {
      try (FakePair pair = new FakePair(1).up(1);
          Region local = pair.local(2L * BLOCK * BLOCKS);
          Region remote = pair.remote(2L * BLOCK * BLOCKS)) {
        Transfer transfer = apart(pair, op, local, remote);
        FakePair.done(transfer);
        Counters before = here.counters();
        FakePair.done(transfer);
        Counters after = here.counters();
        long requests = after.workRequests() - before.workRequests();
        assertThat(requests).as("requests of %s", op).isBetween((long) BLOCKS, BLOCKS + 16L);
        assertThat(after.doorbells() - before.doorbells()).as("doorbells of %s", op).isLessThanOrEqualTo(requests / 32);
        assertThat(after.signalled() - before.signalled()).as("signalled of %s", op).isLessThanOrEqualTo(requests / 32);
      }
    }
  }

  @Test
  void aHundredThousandSmallRequestsNeverOverfillAQueue() {
    int total = 100_000;
    int together = 50;
    here.queues(256, 4096);
    verbs.device(1).queues(256, 4096);
    try (
        FakePair pair = new FakePair(2, Map.of("verbs.receive-buffers", "128"), Map.of("verbs.receive-buffers", "128"));
        Region local = pair.up(2).local(64L * together);
        Region remote = pair.remote(64L * together)) {
      RemoteRegion known = FakePair.known(remote);
      List<Transfer> transfers = new ArrayList<>();
      for (int i = 0; i < together; i++) {
        transfers.add(
            pair.transfer(
                i % 2 == 0 ? Op.WRITE : Op.READ,
                local,
                BlockList.of(local.address() + 64L * i, 64),
                known,
                BlockList.of(remote.address() + 64L * i, 64)));
      }
      transfers.getFirst().notification(new byte[32]);
      Counters before = here.counters();
      for (int round = 0; round < total / together; round++) {
        for (int i = 0; i < together; i += 2) {
          local.segment().set(ValueLayout.JAVA_INT, 64L * i, round);
        }
        transfers.forEach(Transfer::post);
        for (Transfer transfer : transfers) {
          assertThat(transfer.await(FakePair.PATIENCE)).isTrue();
          assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
        }
      }
      Counters after = here.counters();
      assertThat(after.workRequests() - before.workRequests()).isGreaterThanOrEqualTo(total);
      assertThat(remote.segment().get(ValueLayout.JAVA_INT, 64L * (together - 2))).isEqualTo(total / together - 1);
      assertThat(pair.upPaths()).isEqualTo(2);
      assertThat(pair.faults()).isBlank();
    }
  }

  @Test
  void tenThousandRangesOfOneAllocationAreOneRegistration() {
    int ranges = 10_000;
    try (FakePair pair = new FakePair(1).up(1)) {
      long before = here.counters().registrations();
      try (Region whole = pair.here().allocate(64L * ranges, Access.REMOTE_READ_WRITE)) {
        List<Region> parts = new ArrayList<>();
        for (int i = 0; i < ranges; i++) {
          parts.add(pair.here().register(whole.address() + 64L * i, 64, Access.REMOTE_READ_WRITE));
        }
        assertThat(here.counters().registrations() - before).isEqualTo(1);
        assertThat(parts.getLast().remoteKeys()).hasSize(1);
        parts.forEach(Region::close);
      }
    }
  }

  @Test
  void smallDataTravelInline() {
    try (FakePair pair = new FakePair(1).up(1);
        Region local = pair.local(4096);
        Region remote = pair.remote(4096)) {
      long before = here.counters().inlined();
      FakePair.done(
          pair.transfer(
              Op.WRITE,
              local,
              BlockList.of(local.address(), 100),
              FakePair.known(remote),
              BlockList.of(remote.address(), 100)));
      assertThat(here.counters().inlined() - before).isPositive();
    }
  }

  @Test
  void anIdleLinkSleeps() {
    try (FakePair pair = new FakePair(2).up(2)) {
      FakePair.until("the worker has gone to sleep", () -> isQuiet(here));
      assertThat(pair.upPaths()).isEqualTo(2);
    }
  }

  /** No more than heartbeats within a tenth of a second. */
  private static boolean isQuiet(FakeDevice device) {
    long before = device.counters().polls();
    long end = System.nanoTime() + 100_000_000;
    while (System.nanoTime() - end < 0) {
      Thread.onSpinWait();
    }
    return device.counters().polls() - before < 50;
  }
}
