/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who moves a worker's links: its thread, or a caller in its place. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class WorkerTest {
  private static final String NAME = "worker-under-test";
  private static final long VISIT_NANOS = 400_000_000;

  /** A device in software sends within the post: a thread that spun meanwhile would take half of the only core from it. */
  @Test
  void theThreadLeavesTheProcessorToACallerThatStaysLong() {
    try (MemoryRegistry registry = MemoryRegistry.create();
        Region scratch = registry.allocate(4096, Access.LOCAL);
        Worker worker = new Worker(NAME, (request, callback) -> {}, scratch, link -> true)) {
      worker.start();
      Thread thread = thread();
      while (!worker.tryEnter()) {
        Thread.onSpinWait();
      }
      worker.wake(); // awake, and with something to do
      ThreadMXBean threads = ManagementFactory.getThreadMXBean();
      long before = threads.getThreadCpuTime(thread.threadId());
      long start = System.nanoTime();
      while (System.nanoTime() - start < VISIT_NANOS) {
        Thread.onSpinWait();
      }
      long spent = threads.getThreadCpuTime(thread.threadId()) - before;
      worker.leave(false);
      assertThat(spent).as("nanoseconds of processor time within %s", VISIT_NANOS).isLessThan(VISIT_NANOS / 4);
    }
  }

  private static Thread thread() {
    return Thread.getAllStackTraces().keySet().stream().filter(each -> each.getName().equals(NAME)).findAny()
        .orElseThrow();
  }
}
