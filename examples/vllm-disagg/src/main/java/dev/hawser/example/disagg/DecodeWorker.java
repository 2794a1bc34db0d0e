/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.hawser.agent.CounterFuture;
import dev.hawser.agent.LentBlocks;
import dev.hawser.agent.Peer;
import dev.hawser.agent.TransferException;
import dev.hawser.agent.TransferOptions;
import dev.hawser.agent.TransferResult;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Access;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Gets the KV cache of prompts into blocks of its own: it pulls them, or has them pushed. Not thread-safe. */
final class DecodeWorker extends Worker {
  private final List<BlockTable> received = new ArrayList<>();
  private final Map<String, Reserved> reserved = new HashMap<>();
  private long counters;

  /**
   * Blocks that wait for a push.
   *
   * @param table the blocks
   * @param layers the arrivals of all layers
   */
  record Reserved(BlockTable table, CounterFuture layers) {}

  DecodeWorker(HawserConfig config, PoolLayout layout, long seed) {
    super(config, layout, seed, Access.REMOTE_WRITE);
  }

  // ------------------------------------------------------------------------------------------------ pull

  /**
   * Reads the blocks that a prefill worker lent, and notifies it, so that it can free them.
   *
   * @throws TransferException if that fails: STALE if the blocks were not lent any more when the read ended
   */
  TransferResult pull(String request, int tokens, byte[] grant) {
    LentBlocks lent = agent().accept(grant);
    Peer prefill = agent().peer(lent.owner());
    BlockTable table = pool().allocate(request, tokens);
    TransferOptions options =
        TransferOptions.notifying(request.getBytes(UTF_8)).grant(lent).requestId(request).timeout(DEADLINE);
    try {
      TransferResult result =
          agent().read(pool().blocksOf(table), prefill, lent.blocks(), options).await(DEADLINE.plusSeconds(1));
      received.add(table);
      return result;
    } catch (TransferException e) {
      // The transfer has ended, so nothing writes into these blocks any more; what they hold is worth nothing.
      pool().free(table);
      throw e;
    }
  }

  // ------------------------------------------------------------------------------------------------ push

  /** Takes blocks for a request that will be pushed, and begins to count the layers that arrive. */
  Reserved reserve(String request, int tokens) {
    BlockTable table = pool().allocate(request, tokens);
    Reserved waiting = new Reserved(table, agent().expect(++counters, pool().layout().shape().layers()));
    reserved.put(request, waiting);
    return waiting;
  }

  /** Waits until all layers have arrived, in whatever order. */
  void awaitLayers(String request) {
    Reserved waiting = reserved.get(request);
    if (waiting == null) {
      throw new DemonstrationException("no blocks are reserved for request " + request);
    }
    waiting.layers().await(DEADLINE);
    reserved.remove(request);
    received.add(waiting.table());
  }

  // ------------------------------------------------------------------------------------------------ the proof of the proof

  /** Damages one bit of a block that was received. */
  void corruptReceivedBlock() {
    BlockTable table = received.getLast();
    corrupt(table.id(table.size() / 2));
  }

  /** Damages one bit of a block that belongs to no request, as a stray write would. */
  void corruptFreeBlock() {
    corrupt(pool().anyFreeBlock());
  }

  private void corrupt(int id) {
    int layer = pool().layout().shape().layers() / 2;
    MemorySegment block = pool().block(layer, Part.V, id);
    long middle = block.byteSize() / 2;
    block.set(ValueLayout.JAVA_BYTE, middle, (byte) (block.get(ValueLayout.JAVA_BYTE, middle) ^ 1));
  }
}
