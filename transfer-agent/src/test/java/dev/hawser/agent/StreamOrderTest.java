/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.TransferEnd;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.gpu.GpuStream;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Transfers and work of the user's streams, in order. The device is a fake one that works only when it is let; what a stream
 * "computes" is a copy.
 */
class StreamOrderTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Device CUDA = Device.cuda(0);
  private static final int BYTES = 4096;

  private final FakeCuda cuda = new FakeCuda(new FakeGpu(1, 1L << 30));
  private final GpuMemory memory = cuda.start();
  private final GpuStream stream = memory.gpu(0).newStream();
  private final Agent here = start("order-here");
  private final Agent there = start("order-there");
  private final Peer peer;
  private final Region source = here.allocate("source", BYTES);
  private final Region result = here.allocate("result", BYTES);
  private final Region remote = there.allocate("remote", BYTES);

  StreamOrderTest() {
    there.addPeer(here.metadata());
    peer = here.addPeer(there.metadata());
    peer.awaitConnected(PATIENCE);
    source.segment().fill((byte) 1);
    result.segment().fill((byte) 2);
    remote.segment().fill((byte) 3);
  }

  private Agent start(String name) {
    HawserConfig config =
        HawserConfig.builder().environment(Map.of()).name(name).transports("tcp").build();
    return Agent.builder(config)
        .registry(() -> MemoryRegistry.builder().allocations(DeviceKind.CUDA, memory).build())
        .start();
  }

  @AfterEach
  void end() {
    cuda.gpu().hold(false);
    here.close();
    there.close();
  }

  private PreparedTransfer prepare(Operation operation) {
    return here.prepare(operation, BlockList.of(result.address(), BYTES), null, peer,
        BlockList.of(remote.address(), BYTES), null).flush(operation == Operation.WRITE).timeout(PATIENCE);
  }

  private static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - deadline).as("patience").isNegative();
      Thread.onSpinWait();
    }
  }

  private static boolean holds(MemorySegment memory, int value) {
    return memory.get(ValueLayout.JAVA_BYTE, BYTES - 1) == (byte) value;
  }

  @Test
  void aWriteComesAfterTheStreamThatComputesItsBytes() {
    PreparedTransfer write = prepare(Operation.WRITE).after(CUDA, stream.handle());
    cuda.gpu().hold(true);
    stream.copy(source.address(), result.address(), BYTES);
    write.post();
    long until = System.nanoTime() + 50_000_000;
    while (System.nanoTime() - until < 0) {
      assertThat(write.poll()).isFalse();
      assertThat(holds(remote.segment(), 3)).isTrue();
    }
    cuda.gpu().hold(false);
    write.await(PATIENCE);
    assertThat(holds(remote.segment(), 1)).as("what the stream computed").isTrue();
  }

  /** What the test above would miss if it could not fail. */
  @Test
  void withoutTheOrderTheStaleBytesAreSent() {
    PreparedTransfer write = prepare(Operation.WRITE).after(CUDA, stream.handle()).unordered();
    cuda.gpu().hold(true);
    stream.copy(source.address(), result.address(), BYTES);
    write.post();
    write.await(PATIENCE);
    assertThat(holds(remote.segment(), 2)).as("what was there before the stream computed").isTrue();
  }

  @Test
  void aStreamWaitsForTheReadWhoseBytesItUses() {
    PreparedTransfer read = prepare(Operation.READ).before(CUDA, stream.handle());
    // The transfer is kept from ending until the stream has its work.
    PreparedTransfer held = read.after(CUDA, stream.handle());
    cuda.gpu().hold(true);
    held.post();
    stream.copy(result.address(), source.address(), BYTES);
    cuda.gpu().hold(false);
    held.await(PATIENCE);
    await(() -> stream.isIdle() && holds(source.segment(), 3));
    assertThat(here.isPoisoned(CUDA, stream.handle())).isFalse();
  }

  @Test
  void aStreamGoesOnWhenATransferFailsAndIsPoisoned() {
    PreparedTransfer read = prepare(Operation.READ).after(CUDA, stream.handle()).before(CUDA, stream.handle());
    cuda.gpu().hold(true);
    stream.copy(source.address(), source.address() + BYTES / 2, 8);
    read.post();
    stream.copy(result.address(), source.address(), BYTES);
    read.cancel();
    await(read::poll);
    assertThat(read.end()).isEqualTo(new TransferEnd.Cancelled());
    cuda.gpu().hold(false);
    await(stream::isIdle);
    assertThat(holds(source.segment(), 2)).as("the stream went on").isTrue();
    assertThat(here.isPoisoned(CUDA, stream.handle())).isTrue();
    here.cure(CUDA, stream.handle());
    assertThat(here.isPoisoned(CUDA, stream.handle())).isFalse();
  }

  @Test
  void whatIsUnderWayIsNotOrderedAgain() {
    PreparedTransfer write = prepare(Operation.WRITE).after(CUDA, stream.handle()).before(CUDA, stream.handle());
    cuda.gpu().hold(true);
    stream.copy(source.address(), result.address(), BYTES);
    write.post();
    assertThatThrownBy(write::post).isInstanceOf(IllegalStateException.class).hasMessageContaining("under way");
    cuda.gpu().hold(false);
    write.await(PATIENCE);
    assertThat(here.isPoisoned(CUDA, stream.handle())).isFalse();
  }
}
