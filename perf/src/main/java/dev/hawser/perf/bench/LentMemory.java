/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.memory.Region;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** The target's side of a direction: memory that an initiator writes to and reads from, filled and checked here. */
final class LentMemory implements AutoCloseable {
  private final BenchMemory memory;
  private final Pattern pattern;
  private final Plant plant;

  LentMemory(BenchMemory memory, long seed, Plant plant) {
    this.memory = memory;
    this.pattern = new Pattern(seed);
    this.plant = plant;
  }

  Region region() {
    return memory.region();
  }

  /** Before a round: what is to be read must be there. */
  void arm(Op op, long bytes, long generation) {
    if (op == Op.READ) {
      MemorySegment window = memory.segment().asSlice(0, bytes);
      pattern.fill(window, 0, generation);
      plant.damage(pattern, window, generation);
      memory.store(bytes);
    }
  }

  /** After a round: what was written must have come. Says what is wrong, or null. */
  @Nullable
  String check(Op op, long bytes, long generation, Verify verify) {
    if (op == Op.READ || verify == Verify.NONE) {
      return null;
    }
    memory.load(bytes);
    MemorySegment window = memory.segment().asSlice(0, bytes);
    plant.damage(pattern, window, generation);
    long wrong = Sampled.firstWrong(pattern, window, generation, verify);
    return wrong < 0 ? null : pattern.explain(window, wrong, generation).explanation();
  }

  @Override
  public void close() {
    memory.close();
  }
}
