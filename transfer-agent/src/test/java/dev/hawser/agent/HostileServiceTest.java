/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static dev.hawser.agent.Agents.LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.PeerMetadataException.Reason;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Secret;
import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.MetadataBlob;
import dev.hawser.agent.metadata.MetadataClient;
import dev.hawser.agent.metadata.MetadataEntry;
import dev.hawser.agent.metadata.Publication;
import dev.hawser.agent.metadata.PublishedRegion;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Region;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A metadata service, or whoever may write into it, that lies: it changes, swaps, forges and replays the blobs that it
 * keeps. Agents with a cluster secret must not use one byte of that, nor forget what they know.
 */
class HostileServiceTest {
  private static final String SECRET = "the cluster's secret";

  private final Agents agents = new Agents();
  private MetadataService service;
  private MetadataClient hostile;

  @BeforeEach
  void start() {
    service = MetadataService.start(MetadataConfig.defaults());
    hostile = new MetadataClient(List.of(service.uri()), LONG, Secret.NONE, null);
  }

  @AfterEach
  void stop() {
    hostile.close();
    agents.close();
    service.close();
  }

  private Agent agent(String name) {
    return agents.start(name, this::settings);
  }

  private HawserConfig.Builder settings(HawserConfig.Builder settings) {
    // The entries are to stay as they are made.
    return Agents.secret(SECRET).apply(settings).metadata(service.uri().toString()).metadataTtl(Duration.ofMinutes(5));
  }

  /** Puts a blob in the place of the one that an agent published, in an otherwise honest envelope. */
  private void replace(MetadataEntry honest, byte[] blob) {
    hostile
        .publish(new Publication(honest.name(), honest.epoch(), Duration.ofMinutes(5), honest.address(), Map.of(), "",
            OptionalLong.empty(), blob));
  }

  /** What the service would love to hand out: the same agent, with the keys of memory elsewhere. */
  private static AgentMetadata withOtherKeys(byte[] blob) {
    List<AgentMetadata> parts = decode(blob);
    AgentMetadata honest = parts.getFirst();
    List<PublishedRegion> regions = parts.getLast().regions().stream().map(published -> {
      RemoteRegion region = published.region();
      return new PublishedRegion(published.name(), new RemoteRegion(region.id(), region.address() + 64, region.length(),
          region.device(), region.access(), Map.of("fake", "666".getBytes(StandardCharsets.US_ASCII))));
    }).toList();
    return new AgentMetadata(honest.name(), honest.epoch(), parts.getLast().revision() + 1, true, true, honest.host(),
        honest.pid(), honest.addresses(), honest.transports(), regions);
  }

  private static List<AgentMetadata> decode(byte[] blob) {
    return MetadataBlob.decodeAll(blob, Secret.of(SECRET), "the test");
  }

  @Test
  void swappedKeysAreRefusedHoweverTheyAreSealed() {
    Agent there = agent("there");
    there.allocate("kv", 4096);
    Agent here = agent("here");
    MetadataEntry honest = hostile.fetch("there").orElseThrow();
    AgentMetadata forged = withOtherKeys(honest.blob());
    byte[] changed = honest.blob().clone();
    changed[changed.length / 2] ^= 1;

    for (byte[] blob : List.of(MetadataBlob.encode(forged, Secret.NONE),
        MetadataBlob.encode(forged, Secret.of("a guess, as long as it has to be")), changed)) {
      replace(honest, blob);
      assertThatThrownBy(() -> here.peer("there")).isInstanceOfSatisfying(PeerMetadataException.class,
          e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED)).hasMessageContaining("entry 'there'");
    }

    replace(honest, honest.blob());
    assertThat(here.peer("there").region("kv").length()).as("the honest one is taken").isEqualTo(4096);
    // The test can tell: with the secret, the forgery would have been believed.
    replace(honest, MetadataBlob.encode(forged, Secret.of(SECRET)));
    Agent fooled = agent("fooled");
    assertThat(fooled.peer("there").region("kv").address()).isEqualTo(forged.regions().getFirst().region().address());
  }

  @Test
  void appendedPartsAreSignedEachByItself() {
    Agent there = agent("there");
    Agent here = agent("here");
    Peer peer = here.peer("there");
    MetadataEntry honest = hostile.fetch("there").orElseThrow();
    there.allocate("kv", 64);
    AgentMetadata forged = withOtherKeys(hostile.fetch("there").orElseThrow().blob());
    byte[] lie = MetadataBlob.encode(new AgentMetadata("there", forged.epoch(), forged.revision(), false, false, "", 0,
        List.of(), Map.of(), forged.regions()), Secret.NONE);
    byte[] behind = java.util.Arrays.copyOf(honest.blob(), honest.blob().length + lie.length);
    System.arraycopy(lie, 0, behind, honest.blob().length, lie.length);

    replace(honest, behind);

    assertThatThrownBy(() -> peer.region("other")).isInstanceOf(UnknownPeerException.class);
    assertThat(peer.regions()).extracting(PeerRegion::address)
        .doesNotContain(forged.regions().getFirst().region().address());
    assertThatThrownBy(() -> agent("newcomer").peer("there")).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED));
  }

  @Test
  void whatIsKnownOutlivesALieThatTheWatchBrings() {
    Agent there = agent("there");
    Region theirs = there.allocate("kv", 4096);
    Agents.fill(theirs, 1);
    Agent here = agent("here");
    Region ours = here.allocate("kv", 4096);
    Peer peer = here.peer("there");
    MetadataEntry honest = hostile.fetch("there").orElseThrow();

    replace(honest, MetadataBlob.encode(withOtherKeys(honest.blob()), Secret.NONE));
    // Asks the service again, since there is no such region.
    assertThatThrownBy(() -> peer.region("other")).isInstanceOf(UnknownPeerException.class);

    assertThat(peer.region("kv").address()).isEqualTo(theirs.address());
    here.read(Blocks.of(ours), peer, peer.region("kv").blocks()).await(LONG);
    assertThat(Agents.at(ours, 4000)).isEqualTo(Agents.at(theirs, 4000));
  }

  @Test
  void oneAgentsBlobIsNoOthers() {
    Agent there = agent("there");
    Agent other = agent("other");
    Agent here = agent("here");
    MetadataEntry honest = hostile.fetch("there").orElseThrow();
    byte[] others = hostile.fetch("other").orElseThrow().blob();

    replace(honest, others);

    assertThatThrownBy(() -> here.peer("there")).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.DISAGREES));
    assertThat(there.epoch()).isNotEqualTo(other.epoch());
  }

  @Test
  void replayedBlobsBringNothingBack() {
    Agent there = agent("there");
    Region first = there.allocate("first", 64);
    MetadataEntry old = hostile.fetch("there").orElseThrow();
    Agent here = agent("here");
    first.close();
    there.allocate("second", 128);
    Peer peer = here.peer("there");
    assertThat(peer.regions()).extracting(PeerRegion::length).containsExactly(128L);

    // Of the same incarnation, well signed, and out of date.
    replace(old, old.blob());
    assertThatThrownBy(() -> peer.region("first")).isInstanceOf(UnknownPeerException.class);

    assertThat(peer.regions()).extracting(PeerRegion::length).containsExactly(128L);
  }

  @Test
  void restartedPeerIsNotTurnedBackIntoItsFormerSelf() {
    Agent old = agent("there");
    old.allocate("kv", 64);
    MetadataEntry former = hostile.fetch("there").orElseThrow();
    agents.kill(old);
    Agent restarted = agent("there");
    Agent here = agent("here");
    Peer peer = here.peer("there");

    // An honest service would not take it: this one has lost its memory.
    hostile.delete("there", restarted.epoch());
    service.close();
    service = MetadataService.start(MetadataConfig.builder().port(service.port()).build());
    replace(former, former.blob());

    assertThatThrownBy(() -> peer.region("kv")).isInstanceOf(UnknownPeerException.class);
    assertThat(peer.epoch()).isEqualTo(restarted.epoch());
  }

  @Test
  void envelopeCannotSendCallersElsewhere() {
    agent("there");
    Agent here = agent("here");
    MetadataEntry honest = hostile.fetch("there").orElseThrow();

    hostile.publish(new Publication("there", honest.epoch(), Duration.ofMinutes(5), "127.0.0.1:9", Map.of(), "",
        OptionalLong.empty(), honest.blob()));

    assertThatThrownBy(() -> here.peer("there")).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.DISAGREES)).hasMessageContaining("127.0.0.1:9");
  }
}
