/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.Peer;
import dev.hawser.agent.PeerRegion;
import dev.hawser.agent.UnknownPeerException;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.text.Json;
import dev.hawser.memory.BlockList;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** The functions about peers. */
@SuppressWarnings("unused") // all by method handles of the table
final class PeerFunctions {
  private final Handles handles;

  /** A peer is one object as long as it is known, and so is its handle. */
  private final ConcurrentMap<Peer, Long> known = new ConcurrentHashMap<>();

  PeerFunctions(Handles handles) {
    this.handles = handles;
  }

  private Peer peer(long peer) {
    return handles.get(peer, Peer.class, "peer");
  }

  private long handleOf(Peer peer, HeldAgent owner) {
    return known.compute(peer,
        (key, handle) -> handle != null && handles.find(handle) == peer ? handle : handles.add(peer, owner));
  }

  long add(long agent, long blob, long bytes, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    Foreign.putHandle(out, handleOf(held.agent().addPeer(Foreign.bytes(blob, bytes, "blob")), held));
    return 0;
  }

  long get(long agent, long name, long timeout, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    Peer peer = held.agent().peer(Foreign.text(name, "name"), Duration.ofNanos(timeout));
    Foreign.putHandle(out, handleOf(peer, held));
    return 0;
  }

  long name(long peer, long name, long capacity) {
    return Foreign.textOut(peer(peer).name(), name, capacity);
  }

  long describe(long peer, long out) {
    Structs.at(out, Structs.Peer.BYTES, "hawser_peer");
    Peer described = peer(peer);
    long epoch = 0;
    long revision = 0;
    try {
      epoch = described.epoch();
      revision = described.revision();
    } catch (UnknownPeerException e) {
      // Invalidated: the zeros say so.
      epoch = 0;
    }
    Foreign.putInt(out + Structs.Peer.CONNECTED, described.isConnected() ? 1 : 0);
    Foreign.putLong(out + Structs.Peer.EPOCH, epoch);
    Foreign.putLong(out + Structs.Peer.REVISION, revision);
    return 0;
  }

  long describeJson(long peer, long json, long capacity) {
    Peer described = peer(peer);
    String facts = Json.object()
        .text("name", described.name())
        .unsigned("epoch", described.epoch())
        .text("host", described.host())
        .texts("addresses", described.addresses())
        .truth("connected", described.isConnected())
        .items("regions", described.regions(), PeerFunctions::region)
        .items("paths", described.paths(), path -> Json.object()
            .text("transport", path.transport()).text("rail", path.rail()).text("remoteRail", path.remoteRail())
            .number("path", path.path()).number("generation", path.generation()).truth("up", path.up())
            .number("bytesWritten", path.bytesWritten()).number("bytesRead", path.bytesRead())
            .text("lastFault", path.lastFault()).end())
        .texts("unusedTransports", described.unusedTransports())
        .end();
    return Foreign.textOut(facts, json, capacity);
  }

  private static String region(PeerRegion region) {
    RemoteRegion remote = region.published().region();
    return Json.object().text("name", region.published().name()).unsigned("address", remote.address())
        .number("length", remote.length()).text("device", remote.device().toString())
        .number("access", remote.access().mask()).end();
  }

  long region(long peer, long name, long out) {
    Structs.at(out, Structs.Region.BYTES, "hawser_region");
    RemoteRegion remote = peer(peer).region(Foreign.text(name, "name")).published().region();
    MemoryFunctions.putRegion(out, remote.address(), remote.length(), remote.device(), remote.access(), remote.id());
    return 0;
  }

  long covers(long peer, long blocks, long operation) {
    BlockList list = handles.get(blocks, BlockList.class, "blocks");
    return peer(peer).covers(list, Codes.operation(operation)) ? 1 : 0;
  }

  long awaitConnected(long peer, long timeout) {
    peer(peer).awaitConnected(Duration.ofNanos(timeout));
    return 0;
  }

  long invalidate(long agent, long peer) {
    handles.get(agent, HeldAgent.class, "agent").agent().invalidate(peer(peer));
    return 0;
  }

  long remove(long agent, long peer) {
    Peer removed = peer(peer);
    handles.get(agent, HeldAgent.class, "agent").agent().removePeer(removed);
    known.remove(removed);
    handles.remove(peer);
    return 0;
  }

  /** Forgets the peers of an agent that is closed. */
  void forget() {
    known.values().removeIf(handle -> handles.find(handle) == null);
  }
}
