/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Uses against closes, by several threads. */
class UsesTest {
  private static final int THREADS = 3;
  private static final int ROUNDS = 50;

  @Test
  void nobodyUsesARegionAfterItsClose() throws Exception {
    AtomicLong used = new AtomicLong();
    try (MemoryRegistry registry = MemoryRegistry.create();
        ExecutorService executor = Executors.newFixedThreadPool(THREADS)) {
      for (int round = 0; round < ROUNDS; round++) {
        Region region = registry.allocate(64, Access.LOCAL, AllocationOptions.DEFAULT.withHugePages(HugePages.NO));
        CountDownLatch busy = new CountDownLatch(THREADS);
        List<Future<?>> users = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
          users.add(
              executor.submit(
                  () -> {
                    long count = 0;
                    while (region.tryRetain()) {
                      // After the close this raw access would be a fault, which the JVM reports as an InternalError.
                      HostMemory.ALL.set(ValueLayout.JAVA_LONG, region.address(), count);
                      region.release();
                      if (count == 0) {
                        busy.countDown();
                      }
                      count++;
                    }
                    used.addAndGet(count);
                  }));
        }
        busy.await();
        region.close(Duration.ofSeconds(30));
        for (Future<?> user : users) {
          user.get();
        }
        assertThat(region.uses()).isZero();
      }
    }
    assertThat(used.get()).isGreaterThanOrEqualTo((long) THREADS * ROUNDS);
  }

  @Test
  void aUseGivenBackTwiceIsCaught() {
    Uses uses = new Uses();
    assertThat(uses.tryAcquire()).isTrue();
    uses.release();
    assertThatThrownBy(uses::release).isInstanceOf(IllegalStateException.class).hasMessageContaining("twice");
    assertThat(uses.tryAcquire()).isTrue();
  }

  @Test
  void aDeadlineThatPassesLeavesTheCount() throws Exception {
    Uses uses = new Uses();
    assertThat(uses.tryAcquire()).isTrue();
    assertThat(uses.tryAcquire()).isTrue();
    assertThat(uses.startClosing()).isTrue();
    assertThat(uses.startClosing()).isFalse();
    assertThat(uses.awaitIdle(Duration.ofMillis(5))).isEqualTo(2);
    assertThat(uses.awaitIdle(Duration.ofMillis(-5))).isEqualTo(2);
    uses.release();
    uses.release();
    assertThat(uses.awaitIdle(Duration.ZERO)).isZero();
  }

  @Test
  void veryLongDeadlinesDoNotOverflow() {
    assertThat(Deadlines.nanos(Duration.ofSeconds(Long.MAX_VALUE))).isEqualTo(Long.MAX_VALUE);
    assertThat(Deadlines.nanos(Duration.ofNanos(-1))).isZero();
    assertThat(Deadlines.nanos(Duration.ofMillis(3))).isEqualTo(3_000_000);
  }
}
