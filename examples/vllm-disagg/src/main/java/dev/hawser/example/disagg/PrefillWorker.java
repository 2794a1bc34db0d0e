/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.agent.Grant;
import dev.hawser.agent.Notification;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PeerRegion;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Computes the KV cache of prompts, and lends it to the decode worker or pushes it there. Not thread-safe.
 */
final class PrefillWorker extends Worker {
  private final Map<String, Lent> lent = new HashMap<>();

  private record Lent(BlockTable table, Grant grant) {}

  /**
   * A push that has ended.
   *
   * @param bytes moved
   * @param nanos from the start of the first layer until the decode worker had everything
   * @param tailNanos the part of it after the last layer was computed: what the push adds to the time to first token
   */
  record Pushed(long bytes, long nanos, long tailNanos) {}

  PrefillWorker(HawserConfig config, PoolLayout layout, long seed) {
    super(config, layout, seed, Access.REMOTE_READ);
  }

  // ------------------------------------------------------------------------------------------------ to be pulled

  /**
   * Computes a prompt, and lends its blocks to a reader.
   *
   * @return the grant, to be handed to the reader
   */
  byte[] prefill(String request, int tokens, Peer reader) {
    BlockTable table = pool().allocate(request, tokens);
    for (int layer = 0; layer < pool().layout().shape().layers(); layer++) {
      pool().compute(table, layer);
    }
    Grant grant = agent().grant(pool().blocksOf(table), reader);
    lent.put(request, new Lent(table, grant));
    return grant.toBytes();
  }

  /** Waits until the reader notifies that it has everything, then frees the blocks. */
  void releaseWhenPulled(String request) {
    Notification notification = agent().awaitNotification(DEADLINE);
    if (!notification.text().equals(request)) {
      throw new DemonstrationException("waited for the notification of request " + request + ", and got that of "
          + notification.text() + " from " + notification.peer());
    }
    endGrant(request);
  }

  /** The reader took too long: takes the blocks back, and uses them for something else. */
  void expire(String request) {
    endGrant(request);
  }

  private void endGrant(String request) {
    Lent ended = lent.remove(request);
    if (ended == null) {
      throw new DemonstrationException("nothing is lent for request " + request);
    }
    // In this order: the end of a grant moves its generation on, and only then may its blocks be overwritten.
    ended.grant().close();
    pool().free(ended.table());
  }

  // ------------------------------------------------------------------------------------------------ to push

  /**
   * Computes a prompt layer by layer, and writes each layer into the receiver's blocks while the next is computed.
   *
   * @param theirIds the receiver's blocks
   * @param counter counts the layers that have arrived there
   */
  Pushed push(String request, int tokens, Peer receiver, int[] theirIds, long counter) {
    PeerRegion region = receiver.region(POOL);
    PoolLayout ours = pool().layout();
    PoolLayout theirs = PoolLayout.ofBytes(ours.shape(), region.length());
    BlockList local = pool().everyBlock();
    BlockList remote = theirs.everyBlock(region.address());
    BlockTable table = pool().allocate(request, tokens);
    List<PreparedTransfer> writes = new ArrayList<>();

    long start = System.nanoTime();
    for (int layer = 0; layer < ours.shape().layers(); layer++) {
      pool().compute(table, layer);
      PreparedTransfer write = agent().prepare(Operation.WRITE,
          local, ours.layerIndices(layer, table.ids()),
          receiver, remote, theirs.layerIndices(layer, theirIds));
      write.requestId(request).counter(counter).timeout(DEADLINE).post();
      writes.add(write);
    }
    long computed = System.nanoTime();
    writes.forEach(write -> write.await(DEADLINE));
    long end = System.nanoTime();

    pool().free(table);
    return new Pushed(writes.stream().mapToLong(PreparedTransfer::totalBytes).sum(), end - start, end - computed);
  }
}
