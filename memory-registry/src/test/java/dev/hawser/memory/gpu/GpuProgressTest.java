/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.DriverException;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Marks of a stream, and the gate before calls that would block. */
class GpuProgressTest {
  private final FakeCuda cuda = new FakeCuda(new FakeGpu(1, 1L << 30));
  private final Gpu gpu = cuda.start().gpu(0);
  private final GpuStream stream = gpu.newStream();

  @Test
  void aMarkIsReachedInTheOrderOfTheStream() {
    GpuProgress progress = new GpuProgress(stream, 4);
    cuda.gpu().hold(true);
    long first = progress.mark();
    long second = progress.mark();
    assertThat(progress.isDone(first)).isFalse();
    cuda.gpu().hold(false);
    assertThat(progress.isDone(second)).isTrue();
    assertThat(progress.isDone(first)).isTrue();
  }

  @Test
  void askingCallsNoDriver() {
    GpuProgress progress = new GpuProgress(stream, 4);
    cuda.gpu().hold(true);
    long mark = progress.mark();
    int calls = cuda.gpu().callsOf("cu");
    for (int i = 0; i < 1000; i++) {
      assertThat(progress.isDone(mark)).isFalse();
    }
    assertThat(cuda.gpu().callsOf("cu")).isEqualTo(calls);
    cuda.gpu().hold(false);
  }

  @Test
  void aFailureIsHeardOfThoughTheMarkIsNeverReached() {
    GpuProgress progress = new GpuProgress(stream, 4);
    cuda.gpu().hold(true);
    long mark = progress.mark();
    cuda.gpu().fail("cuStreamQuery", 700, 0);
    assertThatThrownBy(
        () -> {
          for (int i = 0; i < 100_000; i++) {
            assertThat(progress.isDone(mark)).isFalse();
          }
        })
        .isInstanceOf(DriverException.class)
        .hasMessageContaining("CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    cuda.gpu().hold(false);
  }

  @Test
  void nobodyPassesWhileMemoryIsBeingFreed() throws Exception {
    GpuBuffer buffer = gpu.allocate(4096);
    cuda.gpu().block("cuMemFree_v2");
    assertThat(gpu.gate().tryPass()).isTrue();
    CompletableFuture<Void> freed = CompletableFuture.runAsync(buffer::close);
    while (gpu.gate().tryPass()) {
      gpu.gate().passed(); // until it has come to the gate
    }
    assertThat(cuda.gpu().calls("cuMemFree_v2")).as("freed while somebody passes").isZero();
    gpu.gate().passed();
    while (!cuda.gpu().isAnyBlocked()) {
      Thread.onSpinWait();
    }
    assertThat(gpu.gate().tryPass()).isFalse();
    cuda.gpu().unblock();
    freed.get(30, TimeUnit.SECONDS);
    assertThat(gpu.gate().tryPass()).isTrue();
    gpu.gate().passed();
  }
}
