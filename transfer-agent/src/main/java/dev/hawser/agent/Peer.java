/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.KnownBlob;
import dev.hawser.agent.metadata.PublishedRegion;
import dev.hawser.engine.Engine;
import dev.hawser.engine.Link;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.text.Quoted;
import dev.hawser.memory.BlockList;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A peer, by name. It stays the same object while incarnations of the peer come and go; what is prepared belongs to the
 * incarnation of that moment. Thread-safe.
 */
public final class Peer {
  private final Engine engine;
  private final Peers peers;
  private final String name;
  private final ReentrantLock lock = new ReentrantLock();

  // Read by posts, hence apart from the state.
  private volatile long epoch;
  private volatile @Nullable PeerState state;
  private volatile @Nullable KnownBlob knownBlob;
  private volatile boolean removed;
  private volatile @Nullable Link link;

  Peer(Engine engine, Peers peers, String name) {
    this.engine = engine;
    this.peers = peers;
    this.name = name;
  }

  /** Its name. */
  public String name() {
    return name;
  }

  /**
   * Its incarnation, as far as we know.
   *
   * @throws UnknownPeerException if nothing is known (any more)
   */
  public long epoch() {
    return known().epoch();
  }

  /** Grows with every change of its regions that we heard of, within an epoch. */
  public long revision() {
    return known().metadata().revision();
  }

  /** Its host, as it calls itself. */
  public String host() {
    return known().metadata().host();
  }

  /** Where it listens. */
  public List<String> addresses() {
    return known().metadata().addresses();
  }

  /** The regions that we know of. */
  public List<PeerRegion> regions() {
    PeerState now = known();
    return now.metadata().regions().stream().map(region -> new PeerRegion(name, now.epoch(), region)).toList();
  }

  /**
   * The region that it calls by this name. If we do not know it, the metadata service is asked once more.
   *
   * @throws UnknownPeerException if it has none that we know of
   */
  public PeerRegion region(String regionName) {
    PeerState now = known();
    PublishedRegion region = now.byName().get(regionName);
    if (region == null && peers.refresh(this)) {
      now = known();
      region = now.byName().get(regionName);
    }
    if (region == null) {
      throw new UnknownPeerException(name, "peer '" + name + "' published no region named "
          + Quoted.of(regionName) + "; those with names are " + now.byName().keySet()
          + ": let it register one with that name");
    }
    return new PeerRegion(name, now.epoch(), region);
  }

  /** Whether all blocks lie in regions that we know of and may be used for this. */
  public boolean covers(BlockList blocks, Operation operation) {
    PeerState now = known();
    try {
      new RemoteBlocks(name, now.index(), blocks.device(), operation).resolve(blocks, null);
      return true;
    } catch (UnresolvedBlocksException e) {
      return false;
    }
  }

  /**
   * Waits until a path to it is up.
   *
   * @throws dev.hawser.engine.LinkException if it refuses, or the time is over, with each path's reason
   */
  public void awaitConnected(Duration timeout) {
    connect().awaitUp(timeout);
  }

  /** Whether a path to it is up. */
  public boolean isConnected() {
    Link present = link;
    return present != null && present.state() == Link.State.UP;
  }

  /** Every path to it: transports, rails, state and bytes. Empty before the first connection. */
  public List<Link.PathReport> paths() {
    Link present = link;
    return present == null ? List.of() : present.paths();
  }

  /** By transport, why it is not used for this peer. */
  public Map<String, String> unusedTransports() {
    Link present = link;
    return present == null ? Map.of() : present.unused();
  }

  @Override
  public String toString() {
    PeerState now = state;
    return "peer '" + name + "'" + (now == null ? "" : ", epoch " + Long.toUnsignedString(now.epoch()));
  }

  // ------------------------------------------------------------------------------------------------ the agent's

  long epochOrZero() {
    return epoch;
  }

  boolean isRemoved() {
    return removed;
  }

  Optional<PeerState> state() {
    return Optional.ofNullable(state);
  }

  PeerState known() {
    PeerState now = state;
    if (now == null) {
      throw new UnknownPeerException(name, removed
          ? "peer '" + name + "' was removed; add its metadata again, or take it from agent.peer(\"" + name + "\")"
          : "the metadata of peer '" + name + "' was invalidated; add it again");
    }
    return now;
  }

  /** What was read of its entry in the metadata service, all of which is merged; null for nothing. */
  @Nullable
  KnownBlob knownBlob() {
    return knownBlob;
  }

  /** Notes what was read, unless everything was forgotten, or read anew, meanwhile. */
  void knownBlob(KnownBlob read, @Nullable KnownBlob before) {
    lock.lock();
    try {
      if (state != null && read.epoch() == epoch && knownBlob == before) {
        knownBlob = read;
      }
    } finally {
      lock.unlock();
    }
  }

  @Nullable
  Link linkOrNull() {
    return link;
  }

  /** Whether its link is there and not over. */
  boolean hasUsableLink() {
    Link present = link;
    return present != null && (present.state() == Link.State.UP || present.state() == Link.State.CONNECTING);
  }

  /**
   * Merges what a blob tells.
   *
   * @return the epoch that was replaced, 0 if none was
   * @throws PeerMetadataException if it is of an older epoch
   */
  long merge(AgentMetadata told) {
    lock.lock();
    try {
      PeerState old = state;
      if (old == null || Long.compareUnsigned(told.epoch(), epoch) > 0) {
        if (Long.compareUnsigned(told.epoch(), epoch) < 0) {
          throw older(told, epoch);
        }
        long replaced = epoch == told.epoch() ? 0 : epoch;
        state = PeerState.first(told);
        knownBlob = null;
        epoch = told.epoch();
        return replaced;
      }
      if (told.epoch() != epoch) {
        throw older(told, epoch);
      }
      state = old.merged(told);
      return 0;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Merges what comes behind what is known.
   *
   * @return false if nothing is known of that incarnation (any more)
   */
  boolean mergeRest(AgentMetadata told) {
    lock.lock();
    try {
      PeerState old = state;
      if (old == null || told.epoch() != epoch) {
        return false;
      }
      state = old.merged(told);
      return true;
    } finally {
      lock.unlock();
    }
  }

  private PeerMetadataException older(AgentMetadata told, long known) {
    return new PeerMetadataException(PeerMetadataException.Reason.OLDER_EPOCH,
        "the metadata of peer '" + name + "' is of epoch " + Long.toUnsignedString(told.epoch())
            + ", but epoch " + Long.toUnsignedString(known)
            + " is known: the peer has restarted since; ask it for its present metadata");
  }

  /** The link to the present incarnation. */
  Link connect() {
    lock.lock();
    try {
      PeerState now = known();
      Link present = link;
      if (present != null && present.peerEpoch() == now.epoch() && present.state() != Link.State.CLOSED) {
        return present;
      }
      if (now.connectionRevision() == 0) {
        throw new PeerMetadataException(PeerMetadataException.Reason.NO_CONNECTION, "peer '" + name
            + "' told of its regions only, not where it can be reached; add metadata with connection information");
      }
      AgentMetadata metadata = now.metadata();
      Link made = engine.connect(
          new PeerDescription(name, metadata.epoch(), metadata.addresses(), metadata.transports()));
      link = made;
      return made;
    } finally {
      lock.unlock();
    }
  }

  /** Forgets what it told; its link stays. */
  void invalidate() {
    lock.lock();
    try {
      state = null;
      knownBlob = null;
    } finally {
      lock.unlock();
    }
  }

  /** Forgets everything and disconnects. */
  void remove() {
    lock.lock();
    try {
      removed = true;
      state = null;
      knownBlob = null;
      epoch = 0;
      link = null;
      engine.disconnect(name);
    } finally {
      lock.unlock();
    }
  }
}
