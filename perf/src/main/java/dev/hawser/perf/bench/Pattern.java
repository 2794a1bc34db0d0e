/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * What memory holds: each word follows from its position and from the generation, so that a block which is swapped,
 * stale, torn or missing is seen, and it can be said where such a word does belong.
 *
 * <p>The word at index {@code i} is {@code x ^ x >>> 29} with {@code x = base(generation) + i * STEP}: a bijection of
 * the index, made and compared at the speed of memory.
 */
final class Pattern {
  /** Odd, so that no two indices give the same word. */
  private static final long STEP = 0x9e3779b97f4a7c15L;
  private static final long STEP_INVERSE = inverse(STEP);
  private static final int SHIFT = 29;
  private static final ValueLayout.OfLong WORD =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final long seed;

  Pattern(long seed) {
    this.seed = seed;
  }

  /** Where the first wrong byte is, and what is known about it. */
  record Mismatch(long position, String explanation) {}

  /**
   * Fills a segment.
   *
   * @param position of the segment's first byte in the memory that the pattern covers
   */
  void fill(MemorySegment segment, long position, long generation) {
    long length = segment.byteSize();
    long offset = 0;
    for (; offset < length && ((position + offset) & 7) != 0; offset++) {
      segment.set(ValueLayout.JAVA_BYTE, offset, byteAt(position + offset, generation));
    }
    long words = (length - offset) >>> 3;
    long x = raw((position + offset) >>> 3, generation);
    for (long i = 0; i < words; i++) {
      segment.set(WORD, offset + (i << 3), x ^ (x >>> SHIFT));
      x += STEP;
    }
    for (offset += words << 3; offset < length; offset++) {
      segment.set(ValueLayout.JAVA_BYTE, offset, byteAt(position + offset, generation));
    }
  }

  /**
   * Compares a segment.
   *
   * @param position of the segment's first byte in the memory that the pattern covers
   * @return the position of the first wrong byte, −1 if there is none
   */
  long firstWrong(MemorySegment segment, long position, long generation) {
    long length = segment.byteSize();
    long offset = 0;
    for (; offset < length && ((position + offset) & 7) != 0; offset++) {
      if (segment.get(ValueLayout.JAVA_BYTE, offset) != byteAt(position + offset, generation)) {
        return position + offset;
      }
    }
    long words = (length - offset) >>> 3;
    long x = raw((position + offset) >>> 3, generation);
    for (long i = 0; i < words;) {
      // Differences are gathered over a few words and looked at once, so that the loop stays a stream.
      long end = Math.min(words, i + 64);
      long difference = 0;
      long from = i;
      for (; i < end; i++) {
        difference |= segment.get(WORD, offset + (i << 3)) ^ x ^ (x >>> SHIFT);
        x += STEP;
      }
      if (difference != 0) {
        return firstWrongByte(segment, position, generation, offset + (from << 3));
      }
    }
    return firstWrongByte(segment, position, generation, offset + (words << 3));
  }

  private long firstWrongByte(MemorySegment segment, long position, long generation, long from) {
    for (long offset = from; offset < segment.byteSize(); offset++) {
      if (segment.get(ValueLayout.JAVA_BYTE, offset) != byteAt(position + offset, generation)) {
        return position + offset;
      }
    }
    return -1;
  }

  /**
   * Says what a wrong word is: of an earlier generation, from another place, or nothing that was ever written.
   *
   * @param memory all of the memory that the pattern covers
   * @param wrong position of a wrong byte in it
   */
  Mismatch explain(MemorySegment memory, long wrong, long generation) {
    return explainPiece(memory, 0, memory.byteSize(), wrong, generation);
  }

  /**
   * As {@link #explain}, of a piece.
   *
   * @param position of the piece's first byte in the memory that the pattern covers
   * @param total bytes of that memory
   */
  Mismatch explainPiece(MemorySegment piece, long position, long total, long wrong, long generation) {
    long start = wrong & ~7L;
    if (start < position || position + piece.byteSize() - start < 8) {
      return new Mismatch(wrong, "byte %d holds 0x%02x, not 0x%02x".formatted(wrong,
          piece.get(ValueLayout.JAVA_BYTE, wrong - position), byteAt(wrong, generation)));
    }
    long found = piece.get(WORD, start - position);
    long expected = word(start >>> 3, generation);
    String what = "it was never written by this run: torn or foreign";
    for (long g = generation; g >= 0 && g > generation - 64; g--) {
      long index = indexOf(found, g);
      if (index >= 0 && index < (total >>> 3)) {
        String age = g == generation ? "this iteration" : (generation - g) + " iteration(s) ago: stale";
        what = index == start >>> 3
            ? "it belongs here but is from " + age
            : "it belongs at byte " + (index << 3) + ": misplaced, from " + age;
        break;
      }
    }
    return new Mismatch(wrong, "byte %d: the word there is 0x%016x instead of 0x%016x; %s".formatted(wrong, found,
        expected, what));
  }

  private byte byteAt(long position, long generation) {
    return (byte) (word(position >>> 3, generation) >>> ((position & 7) << 3));
  }

  private long word(long index, long generation) {
    long x = raw(index, generation);
    return x ^ (x >>> SHIFT);
  }

  private long raw(long index, long generation) {
    return base(generation) + index * STEP;
  }

  private long indexOf(long word, long generation) {
    long x = word;
    for (int known = SHIFT; known < Long.SIZE; known += SHIFT) {
      x = word ^ (x >>> SHIFT);
    }
    return (x - base(generation)) * STEP_INVERSE;
  }

  private long base(long generation) {
    long z = seed + generation * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  /** Modulo 2^64, by Newton's iteration. */
  private static long inverse(long odd) {
    long x = odd;
    for (int i = 0; i < 5; i++) {
      x *= 2 - odd * x;
    }
    return x;
  }
}
