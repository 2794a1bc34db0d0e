/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.InvalidMemoryException;
import java.lang.invoke.VarHandle;

/**
 * Orders work of a user's stream with what is no work of a device: the stream tells by a number in pinned memory of the host
 * how far it has come, and waits for numbers there that a processor writes. What failed is told by a word beside, for the
 * stream goes on all the same. Thread-safe, but for the close.
 */
public final class GpuTimeline implements AutoCloseable {
  /** Waits that may be open at once. */
  public static final int SLOTS = 510;

  private static final VarHandle WORD = JAVA_LONG.varHandle();
  private static final long REACHED = 0;
  private static final long POISON = 8;
  private static final long FIRST_SLOT = 16;

  private final GpuStream stream;
  private final GpuBuffer words;
  private final long[] open = new long[SLOTS]; // guarded by this; the number that a slot waits for, 0 for none
  private long marked; // guarded by this
  private long held; // guarded by this

  /**
   * A timeline.
   *
   * @param stream of the user
   * @throws InvalidMemoryException if its device cannot write and await numbers
   */
  public GpuTimeline(GpuStream stream) {
    if (!stream.gpu().properties().streamValues()) {
      throw new InvalidMemoryException(
          "stream", stream.gpu() + " cannot wait for numbers of 64 bits; wait for the stream on the host instead");
    }
    this.stream = stream;
    this.words = stream.gpu().allocateHost(FIRST_SLOT + (long) SLOTS * Long.BYTES);
    for (long at = 0; at < FIRST_SLOT + (long) SLOTS * Long.BYTES; at += Long.BYTES) {
      WORD.setRelease(Native.ALL, words.address() + at, 0L);
    }
  }

  /** Marks what the stream was given so far; the number is for {@link #isReached}. */
  public synchronized long mark() {
    stream.writeValue(words.address() + REACHED, marked + 1);
    return ++marked;
  }

  /** Whether the stream has come to a mark. A look at memory. */
  public boolean isReached(long number) {
    return (long) WORD.getAcquire(Native.ALL, words.address() + REACHED) >= number;
  }

  /**
   * Lets what the stream is given from now on wait for {@link #release}.
   *
   * @return the number for it
   * @throws IllegalStateException if {@value #SLOTS} waits are open
   */
  public synchronized long hold() {
    long number = held + 1;
    int slot = slot(number);
    if (open[slot] != 0) {
      throw new IllegalStateException(
          SLOTS + " transfers keep " + stream + " waiting; await the end of some before it waits for more");
    }
    stream.waitValue(address(number), number);
    open[slot] = number;
    held = number;
    return number;
  }

  /**
   * Lets the stream go on. A store into memory.
   *
   * @param failed whether what it waited for did not come: then the {@linkplain #isPoisoned poison word} is set first
   */
  public synchronized void release(long number, boolean failed) {
    if (failed) {
      WORD.setRelease(Native.ALL, words.address() + POISON, number);
    }
    open[slot(number)] = 0;
    WORD.setRelease(Native.ALL, address(number), number);
  }

  /** Whether something failed that the stream waited for, since the last {@link #cure}. */
  public boolean isPoisoned() {
    return (long) WORD.getAcquire(Native.ALL, words.address() + POISON) != 0;
  }

  /** Where the poison word is, for kernels of the stream: 0, or which wait was for nothing. */
  public long poisonAddress() {
    return words.address() + POISON;
  }

  /** Clears the poison word. */
  public void cure() {
    WORD.setRelease(Native.ALL, words.address() + POISON, 0L);
  }

  private static int slot(long number) {
    return (int) (number % SLOTS);
  }

  private long address(long number) {
    return words.address() + FIRST_SLOT + (long) slot(number) * Long.BYTES;
  }

  /** Gives its memory back, once the stream is idle. */
  @Override
  public void close() {
    words.close();
  }

  @Override
  public String toString() {
    return "timeline of " + stream;
  }
}
