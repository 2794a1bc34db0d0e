/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Locale;

/**
 * Damage that is done on purpose to the target's memory, to see that the check finds it: before the check of a write,
 * and after the filling for a read.
 */
public enum Plant {
  /** None. */
  NONE {
    @Override
    void damage(Pattern pattern, MemorySegment memory, long generation) {}
  },
  /** One bit is turned. */
  FLIP {
    @Override
    void damage(Pattern pattern, MemorySegment memory, long generation) {
      long at = memory.byteSize() / 2;
      memory.set(ValueLayout.JAVA_BYTE, at, (byte) (memory.get(ValueLayout.JAVA_BYTE, at) ^ 1));
    }
  },
  /** Two blocks change places. */
  SWAP {
    @Override
    void damage(Pattern pattern, MemorySegment memory, long generation) {
      long block = Math.min(4096, memory.byteSize() / 2);
      byte[] first = memory.asSlice(0, block).toArray(ValueLayout.JAVA_BYTE);
      MemorySegment last = memory.asSlice(memory.byteSize() - block, block);
      memory.asSlice(0, block).copyFrom(last);
      last.copyFrom(MemorySegment.ofArray(first));
    }
  },
  /** A piece is of the generation before. */
  STALE {
    @Override
    void damage(Pattern pattern, MemorySegment memory, long generation) {
      long at = memory.byteSize() / 4 & ~7L;
      pattern.fill(memory.asSlice(at, Math.min(512, memory.byteSize() - at)), at, generation - 1);
    }
  },
  /** The end never came. */
  LOSE {
    @Override
    void damage(Pattern pattern, MemorySegment memory, long generation) {
      long bytes = Math.min(64, memory.byteSize());
      memory.asSlice(memory.byteSize() - bytes, bytes).fill((byte) 0);
    }
  };

  abstract void damage(Pattern pattern, MemorySegment memory, long generation);

  /** As it is written. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
