/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static dev.hawser.agent.Agents.LONG;
import static dev.hawser.agent.Agents.block;
import static dev.hawser.agent.Agents.introduce;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.PeerMetadataException.Reason;
import dev.hawser.agent.config.ConfigException;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Secret;
import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.MetadataBlob;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Region;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class AgentMetadataTest {
  private final Agents agents = new Agents();

  @AfterEach
  void stop() {
    agents.close();
  }

  @Test
  void tellsEverythingInTheFullBlob() {
    Agent agent = agents.start("a");
    Region named = agent.allocate("kv", 4096, Access.REMOTE_READ);
    agent.allocate("private", 4096, Access.LOCAL);

    AgentMetadata told = MetadataBlob.decode(agent.metadata(), Secret.NONE, "a test");

    assertThat(told.name()).isEqualTo("a");
    assertThat(told.epoch()).isEqualTo(agent.epoch());
    assertThat(told.complete()).isTrue();
    assertThat(told.addresses()).isEqualTo(agent.addresses());
    assertThat(told.transports()).containsOnlyKeys("fake");
    assertThat(told.pid()).isEqualTo(ProcessHandle.current().pid());
    assertThat(told.regions()).singleElement().satisfies(region -> {
      assertThat(region.name()).isEqualTo("kv");
      assertThat(region.region().address()).isEqualTo(named.address());
      assertThat(region.region().access()).isEqualTo(Access.REMOTE_READ);
      assertThat(region.region().keys()).containsOnlyKeys("fake");
    });
  }

  @Test
  void growsByPartialBlobs() {
    Agent here = agents.start("here");
    Agent there = agents.start("there");
    Region ours = here.allocate("m", 4096);
    Region first = there.allocate("first", 4096);
    Region second = there.allocate("second", 4096);

    Peer peer = here.addPeer(there.metadata(false, first));
    assertThat(peer.regions()).extracting(region -> region.published().name()).containsExactly("first");
    assertThat(peer.covers(Blocks.of(first), Operation.READ)).isTrue();
    assertThat(peer.covers(Blocks.of(second), Operation.READ)).isFalse();
    assertThatThrownBy(() -> here.read(Blocks.of(ours), peer, Blocks.of(first)))
        .isInstanceOfSatisfying(PeerMetadataException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.NO_CONNECTION))
        .hasMessageContaining("connection information");

    assertThat(here.addPeer(there.metadata(true))).isSameAs(peer);
    here.read(Blocks.of(ours), peer, Blocks.of(first)).await(LONG);
    here.addPeer(there.metadata(false, second));
    here.read(Blocks.of(ours), peer, Blocks.of(second)).await(LONG);
    assertThat(peer.isConnected()).isTrue();
    assertThat(peer.paths()).hasSize(1);
    assertThat(peer.unusedTransports()).containsKey("verbs");
  }

  @Test
  void refusesPartialBlobsOfRegionsThatAreNotPublished() {
    Agent here = agents.start("here");
    Agent there = agents.start("there");
    Region foreign = there.allocate("f", 4096);
    Region local = here.allocate("l", 4096, Access.LOCAL);
    Region closed = here.allocate("c", 4096);
    closed.close();

    assertThatThrownBy(() -> here.metadata(true, foreign)).isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("some[0]").hasMessageContaining("not registered");
    assertThatThrownBy(() -> here.metadata(true, closed))
        .hasMessageContaining("closed; give open regions of this agent");
    assertThatThrownBy(() -> here.metadata(true, local)).hasMessageContaining("local")
        .hasMessageContaining("REMOTE_READ");
  }

  @Test
  void followsClosedRegions() {
    Agent here = agents.start("here");
    Agent there = agents.start("there");
    Region ours = here.allocate("m", 4096);
    Region theirs = there.allocate("m", 4096);
    BlockList remote = Blocks.of(theirs);
    Peer peer = introduce(here, there);
    PreparedTransfer prepared = here.prepare(Operation.READ, Blocks.of(ours), peer, remote);
    theirs.close();

    // The old metadata still resolves, and the target refuses.
    assertThatThrownBy(() -> prepared.postAndAwait(LONG)).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.REMOTE_REGION_CLOSED));
    here.addPeer(there.metadata());
    assertThatThrownBy(() -> here.read(Blocks.of(ours), peer, remote)).isInstanceOf(UnresolvedBlocksException.class)
        .hasMessageContaining("published no region");
  }

  @Test
  void refusesBlobsWithTheReason() {
    Agent here = agents.start("here", Agents.secret("s"));
    Agent there = agents.start("there", Agents.secret("s"));
    byte[] good = there.metadata();
    byte[] damaged = good.clone();
    damaged[40] ^= 1;

    assertThatThrownBy(() -> here.addPeer(damaged)).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED)).hasMessageContaining("checksum");
    assertThatThrownBy(() -> here.addPeer(new byte[0])).hasMessageContaining("cut short: hand it over whole");
    assertThatThrownBy(() -> here.addPeer(here.metadata())).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.OWN_NAME)).hasMessageContaining("own name");
    Agent stranger = agents.start("stranger", Agents.secret("other"));
    assertThatThrownBy(() -> here.addPeer(stranger.metadata())).hasMessageContaining("secrets differ");
    assertThat(here.peers()).isEmpty();
    assertThat(here.addPeer(good).name()).isEqualTo("there");
  }

  @Test
  void replacesAnOlderEpochAndRefusesItAfterwards() {
    Agent here = agents.start("here");
    Region ours = here.allocate("m", 64);
    Agent old = agents.start("there");
    old.allocate("m", 64);
    byte[] oldBlob = old.metadata();
    Peer peer = here.addPeer(oldBlob);
    PreparedTransfer prepared = here.prepare(Operation.READ, Blocks.of(ours), peer, peer.region("m").blocks());
    prepared.postAndAwait(LONG);
    agents.network.hold();
    TransferFuture underWay = here.read(Blocks.of(ours), peer, peer.region("m").blocks());
    agents.kill(old);
    Agent restarted = agents.start("there");
    restarted.allocate("m", 64);

    assertThat(here.addPeer(restarted.metadata())).isSameAs(peer);

    assertThat(peer.epoch()).isEqualTo(restarted.epoch()).isGreaterThan(old.epoch());
    assertThatThrownBy(() -> underWay.await(LONG)).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.PEER_RESTARTED)).hasMessageContaining("agent.peer(\"there\")");
    assertThatThrownBy(prepared::post).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.PEER_RESTARTED))
        .hasMessageContaining("prepare the transfer again");
    agents.network.release();
    here.read(Blocks.of(ours), peer, peer.region("m").blocks()).await(LONG);
    assertThatThrownBy(() -> here.addPeer(oldBlob)).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.OLDER_EPOCH)).hasMessageContaining("restarted since");
    assertThat(ours.uses()).isZero();
  }

  @Test
  void invalidatesAndRemoves() {
    Agent here = agents.start("here");
    Agent there = agents.start("there");
    Region ours = here.allocate("m", 64);
    there.allocate("m", 64);
    Peer peer = introduce(here, there);
    BlockList remote = peer.region("m").blocks();
    PreparedTransfer prepared = here.prepare(Operation.READ, Blocks.of(ours), peer, remote);

    here.invalidate(peer);
    assertThatThrownBy(() -> here.read(Blocks.of(ours), peer, remote)).isInstanceOf(UnknownPeerException.class)
        .hasMessageContaining("was invalidated");
    prepared.postAndAwait(LONG);
    here.addPeer(there.metadata());
    here.read(Blocks.of(ours), peer, remote).await(LONG);

    here.removePeer(peer);
    here.removePeer(peer);
    assertThat(here.peers()).isEmpty();
    assertThatThrownBy(() -> here.read(Blocks.of(ours), peer, remote)).isInstanceOf(UnknownPeerException.class)
        .hasMessageContaining("was removed");
    assertThatThrownBy(prepared::post).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.CLOSED))
        .hasMessageContaining("was removed from this agent; add it");
    Peer again = here.addPeer(there.metadata());
    here.read(Blocks.of(ours), again, remote).await(LONG);
  }

  @Test
  void tellsThatAPeerCannotBeReached() {
    Agent here = agents.start("here");
    Region ours = here.allocate("m", 64);
    AgentMetadata other = new AgentMetadata("other", 5, 1, true, true, "h", 1, List.of("127.0.0.1:1"),
        Map.of("unheard-of", new byte[0]), List.of());
    Peer peer = here.addPeer(MetadataBlob.encode(other, Secret.NONE));

    assertThatThrownBy(() -> here.prepareNotification(peer)).isInstanceOf(LinkException.class)
        .hasMessageContaining("no transport is common");
    assertThatThrownBy(() -> peer.awaitConnected(LONG)).isInstanceOf(LinkException.class);
    assertThat(block(ours, 0, 1).count()).isEqualTo(1);
  }

  @Test
  void refusesUnknownPeersWithoutAService() {
    Agent here = agents.start("here");

    assertThatThrownBy(() -> here.peer("nobody")).isInstanceOf(UnknownPeerException.class)
        .hasMessageContaining("'nobody'").hasMessageContaining("HAWSER_METADATA");
    assertThatThrownBy(() -> here.peer("nobody", LONG)).isInstanceOf(UnknownPeerException.class);
    assertThatThrownBy(() -> here.peer("here")).hasMessageContaining("this agent itself");
    assertThatThrownBy(() -> here.peer("a/b")).hasMessageContaining("not allowed");
  }

  @Test
  void refusesWrongNames() {
    assertThatThrownBy(() -> Agent.builder(HawserConfig.builder().environment(Map.of()).build()).start())
        .isInstanceOf(ConfigException.class).hasMessageContaining("HAWSER_NAME");
    assertThatThrownBy(() -> agents.start("no spaces")).isInstanceOf(ConfigException.class)
        .hasMessageContaining("'no spaces'");
    Agent here = agents.start("here");
    here.allocate("m", 64);
    assertThatThrownBy(() -> here.allocate("m", 64)).isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'m' is the name of region");
    assertThatThrownBy(() -> here.allocate("", 64)).hasMessageContaining("name");
    assertThat(here.registry().regions()).hasSize(1);
  }

  @Test
  void givesANameBackWithItsRegion() {
    Agent here = agents.start("here");
    here.allocate("m", 64).close();

    assertThat(here.allocate("m", 64).isClosed()).isFalse();
  }

  @Test
  void handsItsSettingsToTheEngine() {
    Agent agent = agents.start("a", settings -> settings.workers(3).secret(Secret.of("x")).listen("127.0.0.1:77"));

    assertThat(agents.engine(agent).config().workers()).isEqualTo(3);
    assertThat(agents.engine(agent).config().secret()).isEqualTo(Secret.of("x").bytes());
    assertThat(agents.engine(agent).config().listen()).containsExactly("127.0.0.1:77");
    assertThat(agent.absentTransports()).containsKey("verbs");
    assertThat(agents.start("b", settings -> settings.advertise("9.9.9.9:9")).addresses()).containsExactly("9.9.9.9:9");
  }

  @Test
  void spellsOutWildcardAddresses() {
    assertThat(Advertised.of(List.of("127.0.0.1:5"))).containsExactly("127.0.0.1:5");
    assertThat(Advertised.of(List.of("127.0.0.1:5", "0.0.0.0:7"))).contains("127.0.0.1:5")
        .noneMatch(address -> address.startsWith("0.0.0.0"));
  }
}
