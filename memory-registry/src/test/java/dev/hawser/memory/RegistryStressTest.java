/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Everything at once: registering, closing, and transports that come and go. */
@SuppressWarnings("MustBeClosedChecker") // when an arena can be closed is what is tested
class RegistryStressTest {
  private static final int THREADS = 4;
  private static final int STEPS = 1500;

  @Test
  void everythingIsBoundOnceAndUnboundOnce() throws Exception {
    RecordingBinder steady = new RecordingBinder("verbs");
    RecordingBinder visitor = new RecordingBinder("shm");
    Arena arena = Arena.ofShared();
    MemorySegment memory = arena.allocate(1 << 20);
    MemoryRegistry registry = MemoryRegistry.create();
    int index = registry.addBinder(steady);
    // There from first to last, so that every visitor finds something to bind, whoever gets the processor.
    Region resident = registry.register(memory.asSlice(0, 4096), Access.LOCAL);
    try (ExecutorService executor = Executors.newFixedThreadPool(THREADS + 1)) {
      List<Future<?>> tasks = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        Random random = new Random(thread);
        tasks.add(executor.submit(() -> registerAndClose(registry, memory, index, random)));
      }
      tasks.add(
          executor.submit(
              () -> {
                for (int i = 0; i < 100; i++) {
                  registry.addBinder(visitor);
                  assertThat(registry.removeBinder(visitor)).isEmpty();
                }
              }));
      for (Future<?> task : tasks) {
        task.get();
      }
    }
    resident.close(Duration.ZERO);
    registry.close(Duration.ZERO);
    arena.close();

    for (RecordingBinder binder : List.of(steady, visitor)) {
      assertThat(binder.mistakes).isEmpty();
      assertThat(binder.bound).isEmpty();
      assertThat(binder.unbinds.get()).isEqualTo(binder.binds.get());
    }
    assertThat(steady.binds.get()).isPositive();
    assertThat(visitor.binds.get()).isPositive();
  }

  private static void registerAndClose(MemoryRegistry registry, MemorySegment memory, int index, Random random) {
    List<Region> mine = new ArrayList<>();
    for (int step = 0; step < STEPS; step++) {
      if (mine.size() < 20 && random.nextInt(3) > 0) {
        long offset = random.nextInt(16) * 4096L;
        long length = (1L + random.nextInt(16)) * 4096;
        Access access = new Access(random.nextInt(4));
        Region region = random.nextInt(4) == 0
            ? registry.register(memory.asSlice(offset, length), access)
            : registry.register(memory.address() + offset, length, Device.HOST, access);
        assertThat(region.binding(index)).isNotNull();
        assertThat(region.registration().access().allows(access)).isTrue();
        assertThat(region.tryRetain()).isTrue();
        region.release();
        mine.add(region);
      } else if (!mine.isEmpty()) {
        mine.remove(random.nextInt(mine.size())).close(Duration.ofSeconds(30));
      }
    }
    for (Region region : mine) {
      region.close(Duration.ofSeconds(30));
    }
  }
}
