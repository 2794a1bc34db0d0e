/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** What one driver has open of other processes to be used as its own, by address. Thread-safe. */
final class AdoptedMemories {
  private final ConcurrentSkipListMap<Long, AdoptedMemory> byAddress =
      new ConcurrentSkipListMap<>(Long::compareUnsigned);
  private final AtomicLong ids = new AtomicLong(Long.MIN_VALUE); // far from those that drivers give

  long nextId() {
    return ids.getAndIncrement();
  }

  void add(AdoptedMemory memory) {
    byAddress.put(memory.address(), memory);
  }

  void remove(AdoptedMemory memory) {
    byAddress.remove(memory.address(), memory);
  }

  /** That which an address lies in; null if it lies in none. */
  @Nullable
  AdoptedMemory find(long address) {
    Map.Entry<Long, AdoptedMemory> below = byAddress.floorEntry(address);
    return below != null && below.getValue().contains(address) ? below.getValue() : null;
  }
}
