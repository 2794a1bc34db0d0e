/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Entries by transfer number, for numbers that only grow: a ring that spans the numbers from the
 * lowest one that is still of interest. Numbers are u64 and compared modulo 2⁶⁴.
 */
final class TransferWindow<T> {
  private static final Object CLOSED = new Object();

  /** The most numbers that a window spans. */
  static final int MAX_SPAN = 1 << 20;

  private @Nullable Object[] slots = new @Nullable Object[64];
  private long base;
  private long end;

  TransferWindow(long first) {
    base = first;
    end = first;
  }

  /** Everything below is closed. */
  long base() {
    return base;
  }

  /** One above the highest number seen. */
  long end() {
    return end;
  }

  boolean isEmpty() {
    return base == end;
  }

  boolean isClosed(long number) {
    return number - base < 0;
  }

  /** True if {@code number} would stretch the window too far. */
  boolean isTooFar(long number) {
    return number - base >= MAX_SPAN;
  }

  @SuppressWarnings("unchecked") // only put() stores, and only T
  @Nullable
  T get(long number) {
    if (number - base < 0 || number - end >= 0) {
      return null;
    }
    Object entry = slots[index(number)];
    return entry == CLOSED ? null : (T) entry;
  }

  /** Stores an entry at an open number. */
  void put(long number, T entry) {
    if (isClosed(number) || isTooFar(number)) {
      throw new IllegalArgumentException(
          "transfer " + number + " is outside of the window from " + base);
    }
    store(number, entry);
  }

  private void store(long number, Object entry) {
    while (number - base >= slots.length) {
      grow();
    }
    if (number - end >= 0) {
      end = number + 1;
    }
    slots[index(number)] = entry;
  }

  /** Forgets an entry without closing anything. */
  void remove(long number) {
    if (number - base >= 0 && number - end < 0) {
      slots[index(number)] = null;
    }
  }

  /**
   * Closes one number, whether or not it had an entry. The base passes over numbers that are closed, and waits for those
   * that were given out and have no entry yet.
   */
  void close(long number) {
    if (isClosed(number)) {
      return;
    }
    store(number, CLOSED);
    while (base != end && slots[index(base)] == CLOSED) {
      slots[index(base)] = null;
      base++;
    }
  }

  /** Closes everything below {@code number}, entries included. */
  void closeBelow(long number) {
    while (number - base > 0) {
      if (base == end) {
        base = number;
        end = number;
        return;
      }
      slots[index(base)] = null;
      base++;
    }
  }

  @SuppressWarnings("unchecked") // only put() stores, and only T
  void forEach(Consumer<? super T> action) {
    for (long number = base; number != end; number++) {
      Object entry = slots[index(number)];
      if (entry != null && entry != CLOSED) {
        action.accept((T) entry);
      }
    }
  }

  private int index(long number) {
    return (int) number & (slots.length - 1);
  }

  private void grow() {
    @Nullable
    Object[] old = slots;
    @Nullable
    Object[] larger = new @Nullable Object[old.length * 2];
    for (long number = base; number != end; number++) {
      larger[(int) number & (larger.length - 1)] = old[(int) number & (old.length - 1)];
    }
    slots = larger;
  }
}
