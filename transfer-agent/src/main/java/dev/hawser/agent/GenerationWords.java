/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayDeque;

/**
 * The generation words of this agent's grants, in registered host memory that peers may read. A word only ever grows, also
 * when it goes from one grant to the next, so that no old grant fits again.
 */
final class GenerationWords {
  /** Words of different grants do not share a cache line. */
  private static final int STRIDE = 64;

  private static final int PAGE_BYTES = 64 << 10;
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN).varHandle();

  private final MemoryRegistry registry;
  private final ArrayDeque<Word> free = new ArrayDeque<>();

  GenerationWords(MemoryRegistry registry) {
    this.registry = registry;
  }

  /** One word. */
  static final class Word {
    private final Region region;
    private final MemorySegment page;
    private final long offset;

    private Word(Region region, MemorySegment page, long offset) {
      this.region = region;
      this.page = page;
      this.offset = offset;
    }

    Region region() {
      return region;
    }

    long address() {
      return region.address() + offset;
    }

    long generation() {
      return (long) WORD.getVolatile(page, offset);
    }

    /** Advances it, visibly to every reader, NICs included, before anything that the caller stores afterwards. */
    long bump() {
      long next = (long) WORD.getVolatile(page, offset) + 1;
      WORD.setVolatile(page, offset, next);
      VarHandle.fullFence();
      return next;
    }
  }

  synchronized Word take() {
    if (free.isEmpty()) {
      Region region = registry.allocate(PAGE_BYTES, Access.REMOTE_READ);
      MemorySegment page = region.segment();
      for (long offset = 0; offset < PAGE_BYTES; offset += STRIDE) {
        free.add(new Word(region, page, offset));
      }
    }
    Word word = free.remove();
    word.bump();
    return word;
  }

  synchronized void giveBack(Word word) {
    free.addLast(word);
  }
}
