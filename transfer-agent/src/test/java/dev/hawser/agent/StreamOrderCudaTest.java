/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import dev.hawser.memory.cuda.Cuda;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Transfers and a kernel of the user's stream, in order, on a real GPU. The kernel waits for a while before it writes, so that
 * whoever does not wait for it meets what was there before.
 */
@EnabledIf(
    value = "dev.hawser.memory.cuda.Cuda#present",
    disabledReason = "no CUDA device; perf/labs/gpu/pack.sh makes a tarball that runs this on a machine with one")
@SuppressWarnings("NullAway.Init") // by start(), with the transport that a test has as its parameter
class StreamOrderCudaTest {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final long SLOW_NANOS = 400_000_000;
  private static final int BYTES = 1 << 20;
  private static final int THREADS = 256;
  private static final int STALE = 0x5a5a5a5a;
  private static final int COMPUTED = 0x1234567;
  private static final int REMOTE = 0x7654321;

  /** Waits until so many nanoseconds have gone by, then fills words with a value. */
  private static final String SLOW_FILL =
      """
          .version 7.0
          .target sm_75
          .address_size 64
          .visible .entry slow_fill(.param .u64 to, .param .u32 words, .param .u64 nanos, .param .u32 value)
          {
            .reg .pred %p<3>;
            .reg .b32 %r<8>;
            .reg .b64 %d<9>;
            ld.param.u64 %d1, [to];
            cvta.to.global.u64 %d1, %d1;
            ld.param.u32 %r1, [words];
            ld.param.u64 %d2, [nanos];
            ld.param.u32 %r2, [value];
            mov.u64 %d3, %globaltimer;
          WAIT:
            mov.u64 %d4, %globaltimer;
            sub.s64 %d5, %d4, %d3;
            setp.lt.u64 %p1, %d5, %d2;
            @%p1 bra WAIT;
            mov.u32 %r3, %ctaid.x;
            mov.u32 %r4, %ntid.x;
            mov.u32 %r5, %tid.x;
            mad.lo.s32 %r6, %r3, %r4, %r5;
            setp.ge.u32 %p2, %r6, %r1;
            @%p2 bra DONE;
            mul.wide.u32 %d6, %r6, 4;
            add.s64 %d7, %d1, %d6;
            st.global.u32 [%d7], %r2;
          DONE:
            ret;
          }
          """;

  private final Gpu gpu = Cuda.memory().gpu(0);
  private final Device device = gpu.device();
  private final GpuStream stream = gpu.newStream();
  private final GpuStream look = gpu.newStream();
  private Agent here;
  private Agent there;
  private Peer peer;
  private Region result;
  private Region copied;
  private Region remote;
  private Region host;

  private void start(String transport) {
    here = agent("order-here", transport);
    there = agent("order-there", transport);
    result = here.allocate("result", BYTES, device, Access.LOCAL);
    copied = here.allocate("copied", BYTES, device, Access.LOCAL);
    host = here.allocate("host", BYTES);
    remote = there.allocate("remote", BYTES, device, Access.REMOTE_READ_WRITE);
    there.addPeer(here.metadata());
    peer = here.addPeer(there.metadata());
    peer.awaitConnected(PATIENCE);
    set(result, STALE);
    set(copied, STALE);
    set(remote, REMOTE);
    // Opened, pinned and made: what follows takes a millisecond, not the kernel's time.
    write().postAndAwait(PATIENCE);
    set(remote, REMOTE);
  }

  private static Agent agent(String name, String transport) {
    return Agent.builder(
        HawserConfig.builder().environment(Map.of()).name(name).transports(transport).build()).start();
  }

  @AfterEach
  void end() {
    here.close();
    there.close();
    stream.close();
    look.close();
  }

  private PreparedTransfer write() {
    return prepare(Operation.WRITE);
  }

  private PreparedTransfer prepare(Operation operation) {
    return here.prepare(operation, BlockList.of(result.address(), BYTES, device), null, peer,
        BlockList.of(remote.address(), BYTES, device), null).flush(operation == Operation.WRITE).timeout(PATIENCE);
  }

  private void set(Region region, int value) {
    fill(look, region, value, 0);
    look.await(PATIENCE);
  }

  private void fill(GpuStream on, Region region, int value, long afterNanos) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment arguments = arena.allocate(4 * Long.BYTES, Long.BYTES);
      arguments.set(JAVA_LONG, 0, region.address());
      arguments.set(JAVA_INT, 8, BYTES / Integer.BYTES);
      arguments.set(JAVA_LONG, 16, afterNanos);
      arguments.set(JAVA_INT, 24, value);
      MemorySegment pointers = arena.allocate(ADDRESS, 4);
      for (int i = 0; i < 4; i++) {
        pointers.setAtIndex(JAVA_LONG, i, arguments.address() + 8L * i);
      }
      gpu.run(
          driver -> {
            long module = driver.loadModule((SLOW_FILL + "\0").getBytes(StandardCharsets.US_ASCII));
            long function = driver.function(module, "slow_fill");
            driver.launch(function, BYTES / Integer.BYTES / THREADS, THREADS, on.handle(), pointers.address());
          });
    }
  }

  private boolean holds(Region region, int value) {
    look.copy(region.address(), host.address(), BYTES);
    look.await(PATIENCE);
    MemorySegment bytes = host.segment();
    for (long at = 0; at < BYTES; at += Integer.BYTES) {
      if (bytes.get(JAVA_INT, at) != value) {
        return false;
      }
    }
    return true;
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpu-ipc", "shm", "tcp"})
  void aWriteComesAfterTheKernelThatComputesItsBytes(String transport) {
    start(transport);
    PreparedTransfer write = write().after(device, stream.handle());
    fill(stream, result, COMPUTED, SLOW_NANOS);
    long launched = System.nanoTime();
    write.post();
    assertThat(write.poll()).as("ended while the kernel runs").isFalse();
    write.await(PATIENCE);
    assertThat(System.nanoTime() - launched).isGreaterThan(SLOW_NANOS / 2);
    assertThat(holds(remote, COMPUTED)).as("what the kernel computed").isTrue();
  }

  /** What the test above would miss if it could not fail. */
  @ParameterizedTest
  @ValueSource(strings = {"gpu-ipc", "shm", "tcp"})
  void withoutTheOrderTheStaleBytesAreSent(String transport) {
    start(transport);
    PreparedTransfer write = write().after(device, stream.handle()).unordered();
    fill(stream, result, COMPUTED, SLOW_NANOS);
    write.post();
    write.await(PATIENCE);
    assertThat(holds(remote, STALE)).as("what was there before the kernel computed").isTrue();
    stream.await(PATIENCE);
    assertThat(holds(result, COMPUTED)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"gpu-ipc", "shm", "tcp"})
  void aStreamWaitsForTheReadWhoseBytesItUses(String transport) {
    start(transport);
    GpuStream slow = gpu.newStream();
    // The read begins late, by a kernel of another stream; the copy would not wait for that one.
    PreparedTransfer read = prepare(Operation.READ).after(device, slow.handle()).before(device, stream.handle());
    fill(slow, copied, STALE, SLOW_NANOS);
    read.post();
    stream.copy(result.address(), copied.address(), BYTES);
    assertThat(stream.isIdle()).as("the stream waits for the read").isFalse();
    read.await(PATIENCE);
    stream.await(PATIENCE);
    assertThat(holds(copied, REMOTE)).as("what was read").isTrue();
    assertThat(here.isPoisoned(device, stream.handle())).isFalse();
    slow.close();
  }
}
