/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Region;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random work in random order, against plain arrays that say what memory must hold. */
class ShmRandomTest {
  private static final int REGIONS = 6;
  private static final int BYTES = 300_000;
  private static final int OPERATIONS = 3000;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void memoryIsWhatTheModelSays(long seed) {
    try (PathRig rig = new PathRig()) {
      new Run(rig, seed).play();
    }
  }

  /** One sequence of operations. */
  private static final class Run {
    private final PathRig rig;
    private final long seed;
    private final Random random;
    private final Region[] here = new Region[2];
    private final byte[][] hereModel = new byte[2][BYTES];
    private final List<Region> there = new ArrayList<>();
    private final List<byte[]> thereModel = new ArrayList<>();
    private final Map<Long, WorkStatus> expected = new HashMap<>();
    private int messages;
    private int flushes;
    private long workId;

    Run(PathRig rig, long seed) {
      this.rig = rig;
      this.seed = seed;
      this.random = new Random(seed);
      here[0] = PathRig.mapped(rig.here, BYTES, Access.LOCAL);
      here[1] = rig.foreign(rig.here, BYTES, Access.LOCAL);
      for (int i = 0; i < 2; i++) {
        random.nextBytes(hereModel[i]);
        MemorySegment.copy(hereModel[i], 0, here[i].segment(), ValueLayout.JAVA_BYTE, 0, BYTES);
      }
      for (int i = 0; i < REGIONS; i++) {
        add();
      }
    }

    private void add() {
      Access access = new Access(random.nextInt(8) == 0 ? random.nextInt(4) : 3);
      Region region =
          random.nextBoolean()
              ? PathRig.mapped(rig.there, BYTES, access)
              : rig.foreign(rig.there, BYTES, access);
      byte[] model = new byte[BYTES];
      random.nextBytes(model);
      MemorySegment.copy(model, 0, region.segment(), ValueLayout.JAVA_BYTE, 0, BYTES);
      there.add(region);
      thereModel.add(model);
    }

    void play() {
      for (int i = 0; i < OPERATIONS; i++) {
        switch (random.nextInt(12)) {
          case 0 -> rig.initiator.poll(rig.atInitiator);
          case 1 -> rig.target.poll(rig.atTarget);
          case 2 -> message();
          case 3 -> flush();
          case 4 -> {
            if (random.nextInt(50) == 0) {
              replace();
            }
          }
          default -> data();
        }
        if (random.nextInt(100) == 0) {
          check();
        }
      }
      check();
      assertThat(rig.atTarget.messages).as("seed %d", seed).hasSize(messages);
      assertThat(rig.atTarget.flushes).hasSize(flushes);
      assertThat(rig.atInitiator.faults).isEmpty();
      assertThat(rig.atTarget.faults).isEmpty();
    }

    private void message() {
      byte[] bytes = new byte[random.nextInt(random.nextInt(5) == 0 ? 6000 : 64)];
      while (!rig.initiator.postMessage(0, ByteBuffer.wrap(bytes))) {
        rig.turn();
      }
      messages++;
    }

    private void flush() {
      while (!rig.initiator.postFlush(0, flushes, random.nextBoolean())) {
        rig.turn();
      }
      flushes++;
    }

    /** A region goes, another comes. */
    private void replace() {
      check();
      int index = random.nextInt(there.size());
      Region old = there.remove(index);
      thereModel.remove(index);
      Thread closer = Thread.ofPlatform().start(old::close);
      rig.pumpUntil(old::isClosed);
      try {
        closer.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      add();
    }

    private void data() {
      boolean write = random.nextBoolean();
      int local = random.nextInt(2);
      int remote = random.nextInt(there.size());
      Region region = there.get(remote);
      int blocks = 1 + random.nextInt(random.nextInt(10) == 0 ? 200 : 6);
      List<BlockList> localBlocks = new ArrayList<>();
      List<BlockList> remoteBlocks = new ArrayList<>();
      int[] from = new int[blocks];
      int[] to = new int[blocks];
      int[] lengths = new int[blocks];
      for (int i = 0; i < blocks; i++) {
        lengths[i] = random.nextInt(random.nextInt(20) == 0 ? BYTES / 2 : 2000);
        from[i] = random.nextInt(BYTES - lengths[i] + 1);
        to[i] = random.nextInt(BYTES - lengths[i] + 1);
        localBlocks.add(BlockList.of(here[local].address() + from[i], lengths[i]));
        remoteBlocks.add(BlockList.of(region.address() + to[i], lengths[i]));
      }
      TransferPlan plan =
          new TransferPlan(
              BlockPairs.of(BlockList.concat(localBlocks), BlockList.concat(remoteBlocks)),
              here,
              new RemoteRegion[] {PathRig.published(region)});
      long id = ++workId;
      while (!rig.post(id, write ? Op.WRITE : Op.READ, plan)) {
        rig.turn();
      }
      boolean permitted = write ? region.access().remoteWritable() : region.access().remoteReadable();
      boolean touches = plan.totalBytes() > 0;
      boolean refused = !permitted && touches;
      expected.put(id, refused ? WorkStatus.REMOTE_ACCESS : WorkStatus.SUCCESS);
      if (!refused) {
        // Work is done in the order of posting, so the model may do it now.
        byte[] a = write ? hereModel[local] : thereModel.get(remote);
        byte[] b = write ? thereModel.get(remote) : hereModel[local];
        for (int i = 0; i < blocks; i++) {
          System.arraycopy(a, write ? from[i] : to[i], b, write ? to[i] : from[i], lengths[i]);
        }
      }
    }

    private void check() {
      rig.pump();
      for (Recorder.Completed completed : rig.atInitiator.completed) {
        assertThat(completed.status()).as("seed %d, work %d", seed, completed.workId())
            .isEqualTo(expected.remove(completed.workId()));
      }
      rig.atInitiator.completed.clear();
      assertThat(expected).as("seed %d: work that never completed", seed).isEmpty();
      for (int i = 0; i < 2; i++) {
        assertSame(here[i], hereModel[i], "here " + i);
      }
      for (int i = 0; i < there.size(); i++) {
        assertSame(there.get(i), thereModel.get(i), "there " + i);
      }
    }

    private void assertSame(Region region, byte[] model, String which) {
      long at = region.segment().mismatch(MemorySegment.ofArray(model));
      assertThat(at).as("seed %d, %s (%s) differs at", seed, which, region).isEqualTo(-1);
    }
  }
}
