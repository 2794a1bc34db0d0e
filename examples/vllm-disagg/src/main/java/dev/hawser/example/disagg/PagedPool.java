/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.memory.BlockList;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A worker's paged KV cache: it hands out blocks in a shuffled order, as a pool that has been in use for a while does. A
 * block that belongs to no request holds poison of its own, so that every stray byte is seen: {@link PoolAudit}.
 *
 * <p>Not thread-safe.
 */
final class PagedPool {
  private final String name;
  private final PoolLayout layout;
  private final MemorySegment memory;
  private final List<Integer> free = new ArrayList<>();
  private final Map<Integer, Page> pages = new HashMap<>();

  /** What a block is used for. */
  record Page(BlockTable table, int position) {}

  /**
   * Poisons all of it.
   *
   * @param name in messages
   * @param memory as long as the layout says
   * @param seed of the order in which blocks are handed out
   */
  PagedPool(String name, PoolLayout layout, MemorySegment memory, long seed) {
    this.name = name;
    this.layout = layout;
    this.memory = memory;
    for (int id = 0; id < layout.blocks(); id++) {
      free.add(id);
      fillAllLayers(id);
    }
    Collections.shuffle(free, new Random(seed));
  }

  String name() {
    return name;
  }

  PoolLayout layout() {
    return layout;
  }

  // ------------------------------------------------------------------------------------------------ requests

  /**
   * Takes blocks for a request. They are poisoned until somebody fills them.
   *
   * @throws DemonstrationException if there are not enough
   */
  BlockTable allocate(String request, int tokens) {
    int count = layout.shape().blocksFor(tokens);
    if (count > free.size()) {
      throw new DemonstrationException("pool '" + name + "' has " + free.size() + " of its " + layout.blocks()
          + " blocks free, and request " + request + " needs " + count + "; give it more blocks, or fewer tokens");
    }
    List<Integer> taken = free.subList(0, count);
    BlockTable table = new BlockTable(request, taken.stream().mapToInt(Integer::intValue).toArray());
    taken.clear();
    for (int position = 0; position < count; position++) {
      pages.put(table.id(position), new Page(table, position));
    }
    return table;
  }

  /** Stands for the model: computes the keys and values of one layer of a request. */
  void compute(BlockTable table, int layer) {
    for (int position = 0; position < table.size(); position++) {
      fill(layer, table.id(position));
    }
  }

  /** Gives a request's blocks back, and poisons them: from now on nothing may write there. */
  void free(BlockTable table) {
    for (int position = 0; position < table.size(); position++) {
      int id = table.id(position);
      pages.remove(id);
      free.add(id);
      fillAllLayers(id);
    }
  }

  /** A block that belongs to no request. */
  int anyFreeBlock() {
    return free.getFirst();
  }

  // ------------------------------------------------------------------------------------------------ content

  /** What a block is used for; null if for nothing. */
  @Nullable
  Page page(int id) {
    return pages.get(id);
  }

  /** What a block has to hold: its request's content, or poison. */
  KvPattern expected(int layer, Part part, int id) {
    Page page = pages.get(id);
    return page == null ? KvPattern.of("poison of " + name, layer, part, id)
        : KvPattern.of(page.table().request(), layer, part, page.position());
  }

  /** One block's memory. */
  MemorySegment block(int layer, Part part, int id) {
    return memory.asSlice(layout.offset(layer, part, id), layout.shape().blockBytes());
  }

  private void fillAllLayers(int id) {
    for (int layer = 0; layer < layout.shape().layers(); layer++) {
      fill(layer, id);
    }
  }

  private void fill(int layer, int id) {
    for (Part part : Part.values()) {
      expected(layer, part, id).writeTo(block(layer, part, id));
    }
  }

  // ------------------------------------------------------------------------------------------------ for transfers

  /** All blocks, to be chosen from by {@link PoolLayout#index}. */
  BlockList everyBlock() {
    return layout.everyBlock(memory.address());
  }

  /** A request's blocks in all layers. */
  BlockList blocksOf(BlockTable table) {
    return layout.inAllLayers(memory.address(), table.ids());
  }
}
