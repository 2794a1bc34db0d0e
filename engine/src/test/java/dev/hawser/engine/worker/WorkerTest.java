/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who moves a worker's links: its thread, or a caller in its place. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class WorkerTest {
  private static final String NAME = "worker-under-test";
  private static final int LOOKS = 200;
  private static final long PAUSE_NANOS = 1_000_000;

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
      long waiting = 0;
      // Its state and not its processor time: what a thread that spins gets of a busy machine may be little.
      for (int look = 0; look < LOOKS; look++) {
        LockSupport.parkNanos(PAUSE_NANOS);
        waiting += thread.getState() == Thread.State.TIMED_WAITING ? 1 : 0;
      }
      worker.leave(false);
      assertThat(waiting).as("looks of %s at which it waited", LOOKS).isGreaterThan(LOOKS / 2);
    }
  }

  private static Thread thread() {
    return Thread.getAllStackTraces().keySet().stream().filter(each -> each.getName().equals(NAME)).findAny()
        .orElseThrow();
  }
}
