/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.time.Duration;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What holds between two devices of one process, whether or not they can address each other. */
abstract class TwoGpusContract {
  private static final int BYTES = 8 << 20;
  private static final Duration DEADLINE = Duration.ofSeconds(30);

  protected Gpu first;
  protected Gpu second;
  protected GpuDeviceOps ops;
  private GpuDeviceOps others;
  private Twin left;
  private Twin right;

  abstract GpuMemory memory();

  @BeforeEach
  void open() {
    GpuMemory memory = memory();
    first = memory.gpu(0);
    second = memory.gpu(1);
    ops = GpuDeviceOps.on(first);
    others = GpuDeviceOps.on(second);
    left = new Twin(ops.stream(), BYTES, 1);
    right = new Twin(others.stream(), BYTES, 2);
  }

  @AfterEach
  void close() {
    left.close();
    right.close();
    ops.close();
    others.close();
  }

  private void assertBothSame(String what) {
    left.assertSame(what + ", first device");
    right.assertSame(what + ", second device");
  }

  private static void copyOnHost(Twin from, Twin to) {
    HostDeviceOps.INSTANCE.copy(from.hostAddress(), to.hostAddress(), BYTES);
  }

  @Test
  void theMemoryOfEachIsFoundToBeItsOwn() {
    try (MemoryRegistry registry = MemoryRegistry.builder().allocations(DeviceKind.CUDA, memory()).build();
        Region ofFirst = registry.register(left.device(), BYTES, Access.REMOTE_READ_WRITE);
        Region ofSecond = registry.register(right.device(), BYTES, Access.REMOTE_READ_WRITE)) {
      assertThat(ofFirst.device()).isEqualTo(first.device());
      assertThat(ofSecond.device()).isEqualTo(second.device());
    }
    assertThat(first.properties().uuid()).isNotEqualTo(second.properties().uuid());
    assertThat(first.properties().pciBusId()).isNotEqualTo(second.properties().pciBusId());
  }

  /** The driver does it whether or not peer access is enabled: where the machine has none, by way of the host. */
  @Test
  void copiesFromContextToContext() {
    first.run(
        driver -> driver.copyPeer(left.device(), 0, right.device(), 1, BYTES, ops.stream().handle()));
    ops.stream().await(DEADLINE);
    copyOnHost(left, right);
    assertBothSame("cuMemcpyPeerAsync");
    left.host().fill((byte) 3);
    left.upload();
    ops.copy(right.device(), left.device(), BYTES);
    ops.finish();
    copyOnHost(right, left);
    assertBothSame("cuMemcpyAsync");
  }

  @Test
  void copiesShuffledBlocksFromDeviceToDevice() {
    int bytes = 4096;
    int blocks = BYTES / bytes;
    int[] order = IntStream.range(0, blocks).toArray();
    int[] shuffled = order.clone();
    Random random = new Random(5);
    for (int i = blocks - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      int other = shuffled[i];
      shuffled[i] = shuffled[j];
      shuffled[j] = other;
    }
    for (CopyDirection direction : CopyDirection.values()) {
      ops.copy(
          BlockPairs.of(
              BlockList.strided(left.device(), bytes, bytes, blocks, first.device()), order,
              BlockList.strided(right.device(), bytes, bytes, blocks, second.device()), shuffled),
          direction);
      ops.finish();
      HostDeviceOps.INSTANCE.copy(
          BlockPairs.of(
              BlockList.strided(left.hostAddress(), bytes, bytes, blocks), order,
              BlockList.strided(right.hostAddress(), bytes, bytes, blocks), shuffled),
          direction);
      assertBothSame("shuffled blocks, " + direction);
      left.host().fill((byte) 9);
      left.upload();
    }
  }

  @Test
  void permutesFromDeviceToDeviceWhereItCan() {
    if (!first.reach(second)) {
      assertThat(first.reach(second)).as("and says so each time").isFalse();
      return;
    }
    long[] shape = {BYTES / (16 * 8 * 128 * 2), 16, 8, 128};
    int[] axes = {0, 2, 1, 3};
    ops.permute(left.device(), right.device(), shape, axes, 2);
    ops.finish();
    HostDeviceOps.INSTANCE.permute(left.hostAddress(), right.hostAddress(), shape, axes, 2);
    assertBothSame("NHD to HND");
  }
}
