/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.config.Secret;
import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.KnownBlob;
import dev.hawser.agent.metadata.MetadataBlob;
import dev.hawser.agent.metadata.MetadataClient;
import dev.hawser.agent.metadata.MetadataEntry;
import dev.hawser.agent.metadata.MetadataException;
import dev.hawser.agent.metadata.MetadataUnavailableException;
import dev.hawser.agent.wire.MalformedBytesException;
import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineException;
import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The peers that an agent knows, by blobs carried by hand or from the metadata service. Thread-safe. */
final class Peers {
  private static final System.Logger LOG = System.getLogger(Peers.class.getName());

  private final Engine engine;
  private final String ownName;
  private final Secret secret;
  private final @Nullable MetadataClient client;
  private final AgentListener listener;
  private final Callbacks callbacks;
  private final ConcurrentHashMap<String, Peer> byName = new ConcurrentHashMap<>();
  private volatile Runnable onChange = () -> {};

  Peers(Engine engine, Secret secret, @Nullable MetadataClient client, AgentListener listener, Callbacks callbacks) {
    this.engine = engine;
    this.ownName = engine.name();
    this.secret = secret;
    this.client = client;
    this.listener = listener;
    this.callbacks = callbacks;
  }

  /** Called when the set of names changed. */
  void onChange(Runnable newOnChange) {
    onChange = newOnChange;
  }

  Set<String> names() {
    return Set.copyOf(byName.keySet());
  }

  /** Those that there is a link to. */
  List<Telemetry.PeerLink> links() {
    List<Telemetry.PeerLink> links = new ArrayList<>();
    for (Peer peer : byName.values()) {
      Link link = peer.linkOrNull();
      if (link != null) {
        links.add(Telemetry.PeerLink.of(peer.name(), link));
      }
    }
    return links;
  }

  boolean hasService() {
    return client != null;
  }

  /** Merges a blob that was carried by hand. */
  Peer add(byte[] blob) {
    return merge(decode(blob, "the caller"));
  }

  /** The peer, known or fetched. */
  Peer get(String name) {
    Peer peer = byName.get(name);
    if (peer != null && peer.state().isPresent() && (client == null || peer.hasUsableLink())) {
      return peer;
    }
    if (client == null) {
      throw new UnknownPeerException(name,
          "peer '" + name + "' is not known here, and this agent has no metadata service: "
              + "carry its metadata() here and call addPeer, or set HAWSER_METADATA");
    }
    Optional<Peer> fetched;
    try {
      fetched = fetch(client, name);
    } catch (MetadataUnavailableException e) {
      if (peer != null && peer.state().isPresent()) {
        // The service is not needed for what is known already.
        return peer;
      }
      throw e;
    }
    return fetched.orElseThrow(() -> new UnknownPeerException(name,
        "peer '" + name + "' is not in the metadata service: it is not started, or its presence ran out; start it, or "
            + "wait for it with peer(name, timeout)"));
  }

  /** Fetches a peer; empty if the service does not know it. */
  Optional<Peer> fetch(MetadataClient from, String name) {
    Peer peer = byName.get(name);
    KnownBlob known = peer == null ? null : peer.knownBlob();
    if (peer != null && known != null) {
      Optional<MetadataEntry> rest = from.fetch(name, known);
      if (rest.isEmpty() || rest.get().offset() == 0) {
        return rest.map(this::mergeWhole);
      }
      if (mergeRest(peer, known, rest.get())) {
        return Optional.of(peer);
      }
      // Of another incarnation, or what was known has been forgotten meanwhile.
    }
    return from.fetch(name).map(this::mergeWhole);
  }

  private Peer mergeWhole(MetadataEntry told) {
    List<AgentMetadata> parts = decodeAll(told);
    if (parts.isEmpty()) {
      throw new PeerMetadataException(PeerMetadataException.Reason.MALFORMED,
          "the metadata service's entry '" + told.name() + "' is empty; somebody else than an agent published it");
    }
    checkAgreement(told, parts, List.of());
    Peer known = byName.get(told.name());
    KnownBlob before = known == null ? null : known.knownBlob();
    Peer peer = merge(parts.getFirst());
    boolean all = true;
    for (AgentMetadata part : parts.subList(1, parts.size())) {
      all &= peer.mergeRest(part);
    }
    if (all) {
      peer.knownBlob(KnownBlob.of(told.epoch(), told.blob()), before);
    }
    return peer;
  }

  /** False if it continues what is not known (any more). */
  private boolean mergeRest(Peer peer, KnownBlob known, MetadataEntry told) {
    if (told.epoch() != known.epoch()) {
      return false;
    }
    List<AgentMetadata> parts = decodeAll(told);
    checkAgreement(told, parts, peer.state().map(state -> state.metadata().addresses()).orElse(List.of()));
    for (AgentMetadata part : parts) {
      if (!peer.mergeRest(part)) {
        return false;
      }
    }
    if (!parts.isEmpty()) {
      peer.knownBlob(known.append(told.blob()), known);
    }
    return true;
  }

  /** The service is not believed: what it says has to be what the agents signed. */
  private static void checkAgreement(MetadataEntry told, List<AgentMetadata> parts, List<String> knownAddresses) {
    Set<String> addresses = new TreeSet<>(knownAddresses);
    parts.forEach(part -> addresses.addAll(part.addresses()));
    for (AgentMetadata part : parts) {
      if (!part.name().equals(told.name()) || part.epoch() != told.epoch()
          || !(told.address().isEmpty() || addresses.contains(told.address()))) {
        throw new PeerMetadataException(PeerMetadataException.Reason.DISAGREES,
            "the metadata service says '" + told.name() + "' of epoch " + Long.toUnsignedString(told.epoch()) + " at "
                + told.address() + ", but the blob in its entry is of '" + part.name() + "', epoch "
                + Long.toUnsignedString(part.epoch()) + " at " + addresses
                + "; somebody published under a wrong name, or the service's store is corrupt");
      }
    }
  }

  /** Fetches what is new of a peer, if there is a service and it answers; whether anything may have changed. */
  boolean refresh(Peer peer) {
    MetadataClient from = client;
    if (from == null || peer.isRemoved()) {
      return false;
    }
    try {
      return fetch(from, peer.name()).isPresent();
    } catch (MetadataException | PeerMetadataException e) {
      if (!Thread.currentThread().isInterrupted()) {
        LOG.log(Level.WARNING, "cannot refresh the metadata of {0}: {1}", peer, e.getMessage());
      }
      return false;
    }
  }

  private AgentMetadata decode(byte[] blob, String source) {
    try {
      return MetadataBlob.decode(blob, secret, source);
    } catch (MalformedBytesException e) {
      throw malformed(e);
    }
  }

  private List<AgentMetadata> decodeAll(MetadataEntry told) {
    try {
      return MetadataBlob.decodeAll(told.blob(), secret, "the metadata service's entry '" + told.name() + "'");
    } catch (MalformedBytesException e) {
      throw malformed(e);
    }
  }

  private static PeerMetadataException malformed(MalformedBytesException e) {
    String message = e.getMessage();
    return new PeerMetadataException(PeerMetadataException.Reason.MALFORMED,
        message == null ? "the blob is malformed" : message, e);
  }

  private Peer merge(AgentMetadata told) {
    if (told.name().equals(ownName)) {
      throw new PeerMetadataException(PeerMetadataException.Reason.OWN_NAME, "blob: it is of '" + ownName
          + "', which is this agent's own name; give each agent a name of its own, and add only the blobs of others");
    }
    Peer known = byName.get(told.name());
    Peer peer = known == null ? new Peer(engine, this, told.name()) : known;
    if (known == null) {
      Peer raced = byName.putIfAbsent(told.name(), peer);
      peer = raced == null ? peer : raced;
    }
    long replaced = peer.merge(told);
    connectEarly(peer);
    if (known == null) {
      onChange.run();
    }
    if (replaced != 0) {
      Peer restarted = peer;
      callbacks.run(() -> listener.peerRestarted(restarted, replaced));
    }
    return peer;
  }

  /** Begins to connect and to map, so that the first transfer finds paths and memory; what fails is told to who prepares a transfer. */
  private static void connectEarly(Peer peer) {
    if (peer.known().connectionRevision() == 0) {
      return;
    }
    try {
      Link link = peer.connect();
      peer.state()
          .ifPresent(state -> state.metadata().regions().forEach(region -> link.foresee(region.region())));
    } catch (LinkException | EngineException e) {
      LOG.log(Level.WARNING, "{0} cannot be reached: {1}", peer, e.getMessage());
    }
  }

  void remove(Peer peer) {
    if (byName.remove(peer.name(), peer)) {
      peer.remove();
      onChange.run();
    }
  }

  @Nullable
  Peer known(String name) {
    return byName.get(name);
  }
}
