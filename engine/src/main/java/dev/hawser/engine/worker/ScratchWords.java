/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import dev.hawser.memory.Region;
import java.util.BitSet;

/** Registered 8-byte words that one worker lends to its links. Owner only. */
final class ScratchWords {
  private final Region region;
  private final BitSet taken = new BitSet();
  private final int words;

  ScratchWords(Region region) {
    this.region = region;
    this.words = (int) (region.length() / Long.BYTES);
  }

  Region region() {
    return region;
  }

  /** A free word's index, or −1. */
  int take() {
    int index = taken.nextClearBit(0);
    if (index >= words) {
      return -1;
    }
    taken.set(index);
    return index;
  }

  void release(int index) {
    taken.clear(index);
  }
}
