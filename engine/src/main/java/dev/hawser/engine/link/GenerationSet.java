/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.Arrays;

/** A set of small indices of path generations. Reused; allocates only when it must grow. */
final class GenerationSet {
  private long[] words = new long[1];

  void add(int index) {
    int word = index >>> 6;
    if (word >= words.length) {
      words = Arrays.copyOf(words, word + 1);
    }
    words[word] |= 1L << index;
  }

  void remove(int index) {
    int word = index >>> 6;
    if (word < words.length) {
      words[word] &= ~(1L << index);
    }
  }

  boolean contains(int index) {
    int word = index >>> 6;
    return word < words.length && (words[word] & 1L << index) != 0;
  }

  /** The smallest member that is at least {@code from}, or −1. */
  int next(int from) {
    int word = from >>> 6;
    if (word >= words.length) {
      return -1;
    }
    long bits = words[word] & -1L << from;
    while (bits == 0) {
      if (++word == words.length) {
        return -1;
      }
      bits = words[word];
    }
    return (word << 6) + Long.numberOfTrailingZeros(bits);
  }

  boolean isEmpty() {
    return next(0) < 0;
  }

  int size() {
    int size = 0;
    for (long word : words) {
      size += Long.bitCount(word);
    }
    return size;
  }

  void clear() {
    Arrays.fill(words, 0);
  }

  void setTo(GenerationSet other) {
    clear();
    for (int i = other.next(0); i >= 0; i = other.next(i + 1)) {
      add(i);
    }
  }
}
