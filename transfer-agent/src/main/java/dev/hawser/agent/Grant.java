/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.memory.BlockList;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Blocks that this agent lends. The grant is handed to the reader as bytes; whoever reads under it learns afterwards
 * whether the blocks were still lent, by a generation word in this agent's memory.
 *
 * <p><b>Before the blocks are reused</b>, call {@link #bump()} (and hand out {@link #toBytes()} anew for the next content),
 * or {@link #revoke}: a read that overlaps with the reuse then ends as STALE, never as success. Thread-safe.
 */
public final class Grant implements AutoCloseable {
  private final Agent agent;
  private final GenerationWords words;
  private final GenerationWords.Word word;
  private final BlockList blocks;
  private final @Nullable String reader;
  private final boolean writable;
  private long generation;
  private boolean revoked;

  Grant(Agent agent, GenerationWords words, BlockList blocks, @Nullable String reader, boolean writable) {
    this.agent = agent;
    this.words = words;
    this.word = words.take();
    this.blocks = blocks;
    this.reader = reader;
    this.writable = writable;
    this.generation = word.generation();
  }

  /** What is lent. */
  public BlockList blocks() {
    return blocks;
  }

  /** The only peer that may use it; null if any may. */
  public @Nullable String reader() {
    return reader;
  }

  /** Whether the peer may write to the blocks; otherwise it may read them. */
  public boolean writable() {
    return writable;
  }

  /** The present generation. */
  public synchronized long generation() {
    return generation;
  }

  /**
   * The grant of the present generation, to be handed to the reader: {@link Agent#accept}.
   *
   * @throws GrantException if it was revoked
   */
  public synchronized byte[] toBytes() {
    checkNotRevoked();
    return GrantCodec.encode(
        new GrantCodec.Told(agent.name(), agent.epoch(), reader == null ? "" : reader, writable, generation,
            word.address(), agent.published(word.region()), blocks),
        agent.config().secret());
  }

  /**
   * Ends the present generation: reads under it that have not finished end as STALE. When this returns, that is visible to
   * every reader, and the blocks may be overwritten.
   *
   * @return the new generation
   * @throws GrantException if it was revoked, or is writable: writes that are under way are stopped only by {@link #revoke}
   */
  public synchronized long bump() {
    checkNotRevoked();
    if (writable) {
      throw new GrantException("bump: this grant lets '" + reader
          + "' write; a new generation does not stop writes that are under way: revoke it and make another");
    }
    generation = word.bump();
    return generation;
  }

  /**
   * Ends the grant for good. One that lets a peer write is ended by fencing the peer's whole session: its transfers to us
   * end there as SESSION_ENDED, and it may connect again.
   *
   * @param timeout how long the fence may take
   * @throws GrantException if the fence was not complete in time: the blocks must not be reused yet; revoke again
   */
  public void revoke(Duration timeout) {
    synchronized (this) {
      if (revoked) {
        return;
      }
      generation = word.bump();
    }
    if (writable && reader != null && !agent.engine().revoke(reader, "a grant was revoked", timeout)) {
      throw new GrantException("revoke: peer '" + reader + "' was not fenced within " + timeout
          + "; its writes may still land: do not reuse the blocks, revoke again");
    }
    synchronized (this) {
      if (!revoked) {
        revoked = true;
        words.giveBack(word);
      }
    }
  }

  /** {@link #revoke} with the agent's link lease as time. */
  @Override
  public void close() {
    revoke(agent.config().linkLease());
  }

  private void checkNotRevoked() {
    if (revoked) {
      throw new GrantException("this grant was revoked; make another with agent.grant");
    }
  }
}
