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
import dev.hawser.agent.metadata.KnownBlob;
import dev.hawser.agent.metadata.MetadataClient;
import dev.hawser.agent.metadata.MetadataEntry;
import dev.hawser.agent.metadata.MetadataUnavailableException;
import dev.hawser.agent.metadata.Publication;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.testkit.LoggedWarnings;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Region;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Agents that meet through the real metadata service, over fake engines. */
class AgentServiceTest {
  private final Agents agents = new Agents();
  private MetadataService service;

  @BeforeEach
  void start() {
    service = MetadataService.start(MetadataConfig.defaults());
  }

  @AfterEach
  void stop() {
    agents.close();
    service.close();
  }

  private HawserConfig.Builder viaService(HawserConfig.Builder settings) {
    return settings.metadata(service.uri().toString()).metadataTtl(Duration.ofMillis(600));
  }

  private Agent agent(String name) {
    return agents.start(name, this::viaService);
  }

  private MetadataClient client() {
    return new MetadataClient(List.of(service.uri()), LONG, Secret.NONE, null);
  }

  /** Waits for something that another thread brings about; polling it is all that the test can do. */
  private static void eventually(BooleanSupplier condition) {
    long deadline = System.nanoTime() + LONG.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("it never happened").isLessThan(deadline);
      Thread.onSpinWait();
    }
  }

  @Test
  void findsPeersByName() {
    Agent there = agent("there");
    Region theirs = there.allocate("kv", 4096);
    Agents.fill(theirs, 1);
    Agent here = agent("here");
    Region ours = here.allocate("kv", 4096);

    Peer peer = here.peer("there");
    here.read(Blocks.of(ours), peer, peer.region("kv").blocks()).await(LONG);

    assertThat(Agents.at(ours, 4000)).isEqualTo(Agents.at(theirs, 4000));
    assertThat(here.peer("there")).isSameAs(peer);
  }

  @Test
  void waitsForAPeerThatStartsLater() throws InterruptedException {
    Agent here = agent("here");
    assertThatThrownBy(() -> here.peer("there")).isInstanceOf(UnknownPeerException.class)
        .hasMessageContaining("not in the metadata service").hasMessageContaining("peer(name, timeout)");
    assertThatThrownBy(() -> here.peer("there", Duration.ofMillis(30))).isInstanceOf(UnknownPeerException.class);
    CompletableFuture<Peer> found = CompletableFuture.supplyAsync(() -> here.peer("there", LONG));

    Agent there = agent("there");

    assertThat(found.join().epoch()).isEqualTo(there.epoch());
  }

  @Test
  void publishesRegionsBeforeRegisteringReturns() {
    Agent there = agent("there");
    Agent here = agent("here");
    Region ours = here.allocate("m", 64);
    Peer peer = here.peer("there");

    // The peer was fetched before this region was registered: preparing fetches again.
    Region late = there.allocate("late", 64);
    here.read(Blocks.of(ours), peer, Blocks.of(late)).await(LONG);

    Region unnamed = there.registry().allocate(64, Access.REMOTE_READ);
    assertThat(there.awaitPublished(LONG)).isTrue();
    here.read(Blocks.of(ours), peer, Blocks.of(unnamed)).await(LONG);
  }

  @Test
  void refusesANameThatALivingAgentHas() {
    Agent first = agent("me");

    assertThatThrownBy(() -> agent("me")).isInstanceOfSatisfying(NameInUseException.class, e -> {
      assertThat(e.host()).isEqualTo("fakehost");
      assertThat(e.pid()).isEqualTo(4711);
    }).hasMessageContaining("'me' is in use").hasMessageContaining("process 4711 on host fakehost")
        .hasMessageContaining("HAWSER_NAME");
    assertThat(first.isClosed()).isFalse();
    try (MetadataClient client = client()) {
      assertThat(client.fetch("me").orElseThrow().epoch()).isEqualTo(first.epoch());
    }
  }

  @Test
  void takesOverFromOneThatDoesNotAnswer() throws InterruptedException {
    CountDownLatch superseded = new CountDownLatch(1);
    Agent old = agents.start("me", this::viaService, options -> options.listener(new AgentListener() {
      @Override
      public void superseded(String reason) {
        superseded.countDown();
      }
    }));
    agents.kill(old);

    Agent next = agent("me");

    assertThat(Long.compareUnsigned(next.epoch(), old.epoch())).isPositive();
    // The old one wakes up, tries to renew, and learns that its time is over.
    assertThat(superseded.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    assertThatThrownBy(() -> old.allocate("m", 64)).isInstanceOf(AgentSupersededException.class)
        .hasMessageContaining("superseded by a newer one");
    try (MetadataClient client = client()) {
      old.close();
      assertThat(client.fetch("me").orElseThrow().epoch()).isEqualTo(next.epoch());
    }
  }

  @Test
  void raisesItsEpochAboveARecordedOneFromTheFuture() {
    long future = Long.MAX_VALUE - 7;
    try (MetadataClient client = client()) {
      client.publish(new Publication("me", future, Duration.ofSeconds(60), "127.0.0.1:1", Map.of(), "",
          OptionalLong.empty(), new byte[] {1}));

      assertThat(agent("me").epoch()).isEqualTo(future + 1);
    }
  }

  @Test
  void raisesItsEpochAboveOneThatIsRememberedOnly() {
    long future = Long.MAX_VALUE - 7;
    try (MetadataClient client = client()) {
      client.publish(new Publication("me", future, Duration.ofSeconds(60), "127.0.0.1:1", Map.of(), "",
          OptionalLong.empty(), new byte[] {1}));
      client.delete("me", future);

      assertThat(agent("me").epoch()).isEqualTo(future + 1);
    }
  }

  @Test
  void oneOfManyNewcomersWins() {
    int newcomers = 6;
    ConcurrentLinkedQueue<Agent> started = new ConcurrentLinkedQueue<>();
    ConcurrentLinkedQueue<Throwable> refused = new ConcurrentLinkedQueue<>();
    CompletableFuture<?>[] all = new CompletableFuture<?>[newcomers];
    for (int i = 0; i < newcomers; i++) {
      all[i] = CompletableFuture.runAsync(() -> {
        HawserConfig config = viaService(HawserConfig.builder().environment(Map.of()).name("me")).build();
        try {
          started.add(Agent.builder(config).engine(agents.network::start).start());
        } catch (NameInUseException | AgentSupersededException e) {
          refused.add(e);
        }
      }, task -> Thread.ofPlatform().start(task));
    }
    CompletableFuture.allOf(all).join();

    try (MetadataClient client = client()) {
      long winner = client.fetch("me").orElseThrow().epoch();
      assertThat(started).filteredOn(agent -> agent.epoch() == winner).hasSize(1);
      assertThat(started.size() + refused.size()).isEqualTo(newcomers);
    } finally {
      started.forEach(Agent::close);
    }
  }

  @Test
  void keepsItsEntryAliveAndDeletesItAtTheEnd() {
    Agent agent = agent("me");
    try (MetadataClient client = client()) {
      long deadline = System.nanoTime() + Duration.ofMillis(1_500).toNanos();
      while (System.nanoTime() < deadline) {
        assertThat(client.peek("me")).isPresent();
      }
      agent.close();
      assertThat(client.peek("me")).isEmpty();
    }
  }

  @Test
  void publishesAgainWhenTheServiceHasForgottenIt() {
    Agent agent = agent("me");
    try (MetadataClient client = client()) {
      client.delete("me", agent.epoch());

      eventually(() -> client.peek("me").isPresent());
    }
  }

  @Test
  void seesARestartedPeerAtOnce() throws InterruptedException {
    AtomicReference<Peer> restartedPeer = new AtomicReference<>();
    CountDownLatch heard = new CountDownLatch(1);
    Agent here = agents.start("here", this::viaService, options -> options.listener(new AgentListener() {
      @Override
      public void peerRestarted(Peer peer, long oldEpoch) {
        restartedPeer.set(peer);
        heard.countDown();
      }
    }));
    Region ours = here.allocate("m", 64);
    Agent old = agent("there");
    old.allocate("m", 64);
    Peer peer = here.peer("there");
    PreparedTransfer prepared = here.prepare(Operation.READ, Blocks.of(ours), peer, peer.region("m").blocks());
    prepared.postAndAwait(LONG);
    agents.kill(old);

    Agent restarted = agent("there");
    restarted.allocate("m", 64);

    assertThat(heard.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
    assertThat(restartedPeer.get()).isSameAs(peer);
    assertThat(peer.epoch()).isEqualTo(restarted.epoch());
    assertThat(peer.isConnected()).isTrue();
    assertThatThrownBy(prepared::post).isInstanceOfSatisfying(TransferException.class,
        e -> assertThat(e.failure()).isEqualTo(Cause.PEER_RESTARTED));
    // By name, with the regions of the new incarnation, it just works.
    BlockList remote = Blocks.of(restarted.registry().regions().getFirst());
    here.read(Blocks.of(ours), peer, remote).await(LONG);
  }

  @Test
  void seesARestartWithoutItsWatchToo() {
    // A watch that cannot keep up is no excuse: the link says that the peer is gone, and preparing asks again.
    Agent here = agent("here");
    Region ours = here.allocate("m", 64);
    Agent old = agent("there");
    old.allocate("m", 64);
    Peer peer = here.peer("there");
    agents.kill(old);
    Agent restarted = agent("there");
    Region theirs = restarted.allocate("m", 64);

    here.read(Blocks.of(ours), here.peer("there"), Blocks.of(theirs)).await(LONG);

    assertThat(peer.epoch()).isEqualTo(restarted.epoch());
  }

  @Test
  void moreRegionsAreAppendedAndFetchedByThemselves() {
    // Where the machine stood still an entry ends, or nobody knows what came of a request: then all is published anew, rightly.
    Agent there =
        agents.start(
            "there", settings -> viaService(settings).metadataTtl(Duration.ofMinutes(5)).metadataTimeout(LONG));
    there.allocate("r0", 64);
    Agent here = agent("here");
    Peer peer = here.peer("there");
    try (MetadataClient client = client()) {
      byte[] before = client.fetch("there").orElseThrow().blob();
      for (int i = 1; i <= 20; i++) {
        there.allocate("r" + i, 64);
      }
      byte[] after = client.fetch("there").orElseThrow().blob();
      assertThat(java.util.Arrays.copyOf(after, before.length)).as("nothing was published anew").isEqualTo(before);
      eventually(() -> peer.regions().size() == 21);
      // What was read is noted after it was merged: the regions can be seen a moment earlier.
      eventually(() -> {
        KnownBlob known = peer.knownBlob();
        return known != null && client.fetch("there", known).orElseThrow().blob().length == 0;
      });

      // What has gone cannot be appended.
      there.registry().regions().getFirst().close();
      eventually(() -> peer.regions().size() == 20);
      assertThat(client.fetch("there").orElseThrow().blob()).hasSizeLessThan(after.length);
      there.allocate("more", 64);
      eventually(() -> peer.regions().size() == 21);
    }
  }

  /** Told in two steps it would be published in two parts whenever the publisher came in between, and grow twice as fast. */
  @Test
  void aRegionAndItsNameAreOneChange() {
    Agent there = agents.start("there");
    Agent here = agents.start("here");
    long before = here.addPeer(there.metadata()).revision();
    there.allocate("kv", 64);
    Peer peer = here.addPeer(there.metadata());
    assertThat(peer.revision()).isEqualTo(before + 1);
    assertThat(peer.region("kv").length()).isEqualTo(64);
  }

  @Test
  void appendedPartsDoNotGrowForEver() {
    Agent there = agent("there");
    try (MetadataClient client = client()) {
      int longest = 0;
      for (int i = 0; i < 150; i++) {
        there.allocate("r" + i, 64);
        longest = Math.max(longest, client.fetch("there").orElseThrow().blob().length);
      }
      int whole = there.metadata().length;
      assertThat(longest).isLessThan(3 * whole + 8_192);
      assertThat(agent("here").peer("there").regions()).hasSize(150);
    }
  }

  @Test
  void publishesEverythingWhereTheServiceHasSomethingElse() {
    Agent there = agent("there");
    there.allocate("a", 64);
    Peer peer = agent("here").peer("there");
    try (MetadataClient client = client()) {
      client.delete("there", there.epoch());
      there.allocate("b", 64);

      assertThat(there.awaitPublished(LONG)).isTrue();
      assertThat(client.fetch("there").orElseThrow().offset()).isZero();
      eventually(() -> peer.regions().size() == 2);
    }
  }

  @Test
  void followsChangedRegionsOfManyPeers() {
    Agent here = agent("here");
    Agent first = agent("first");
    Agent second = agent("second");
    Peer firstPeer = here.peer("first");
    Peer secondPeer = here.peer("second");

    first.allocate("a", 64);
    eventually(() -> firstPeer.regions().size() == 1);
    second.allocate("b", 64);
    eventually(() -> secondPeer.regions().size() == 1);
    first.registry().regions().getFirst().close();
    eventually(() -> firstPeer.regions().isEmpty());
    here.removePeer(firstPeer);
    second.allocate("c", 64);
    eventually(() -> secondPeer.regions().size() == 2);
  }

  @Test
  void fetchesAgainAfterAnInvalidation() {
    Agent here = agent("here");
    Region ours = here.allocate("m", 64);
    Agent there = agent("there");
    Region theirs = there.allocate("m", 64);
    Peer peer = here.peer("there");
    here.invalidate(peer);

    here.read(Blocks.of(ours), peer, Blocks.of(theirs)).await(LONG);
  }

  @Test
  void goesOnWithoutTheServiceOnceConnected() {
    Agent here = agent("here");
    Region ours = here.allocate("m", 64);
    Agent there = agent("there");
    Region theirs = there.allocate("m", 64);
    Peer peer = here.peer("there");
    service.close();

    here.read(Blocks.of(ours), peer, Blocks.of(theirs)).await(LONG);
    assertThat(here.peer("there")).isSameAs(peer);
    assertThatThrownBy(() -> here.peer("other")).isInstanceOf(MetadataUnavailableException.class)
        .hasMessageContaining("not reachable");
    // The first registration learns that the service is gone; none fails for it.
    Region more = here.allocate("more", 64);
    assertThat(more.isClosed()).isFalse();
    assertThat(here.awaitPublished(Duration.ofMillis(10))).isFalse();
  }

  @Test
  void comesBackWithARestartedService() {
    Agent here = agent("here");
    Agent there = agent("there");
    Peer peer = here.peer("there");
    int port = service.port();
    service.close();
    there.allocate("while-it-was-away", 64);
    service = MetadataService.start(MetadataConfig.builder().port(port).build());

    try (MetadataClient client = client()) {
      eventually(() -> client.peek("here").isPresent() && client.peek("there").isPresent());
    }
    eventually(() -> peer.regions().size() == 1);
  }

  @Test
  void goesToAnotherServiceWhenOneDies() {
    try (MetadataService second = MetadataService.start(MetadataConfig.defaults());
        MetadataClient toSecond = new MetadataClient(List.of(second.uri()), LONG, Secret.NONE, null)) {
      UnaryOperator<HawserConfig.Builder> urls =
          settings -> viaService(settings).metadata(service.uri().toString(), second.uri().toString());
      Agent there = agents.start("there", urls);
      Agent here = agents.start("here", urls);
      Peer peer = here.peer("there");
      assertThat(toSecond.peek("there")).as("the first that answers is kept").isEmpty();

      service.close();

      eventually(() -> toSecond.peek("here").isPresent() && toSecond.peek("there").isPresent());
      there.allocate("later", 64);
      eventually(() -> peer.regions().size() == 1);
      Agent newcomer = agents.start("newcomer", urls);
      assertThat(newcomer.peer("there", LONG).epoch()).isEqualTo(there.epoch());
    }
  }

  @Test
  void refusesToStartWithoutTheService() {
    service.close();

    assertThatThrownBy(() -> agent("me")).isInstanceOf(MetadataUnavailableException.class)
        .hasMessageContaining("HAWSER_METADATA");
    assertThatThrownBy(() -> agents.network.engine("me")).isInstanceOf(java.util.NoSuchElementException.class);
  }

  @Test
  void refusesAnEnvelopeThatDisagreesWithItsBlob() {
    Agent here = agent("here");
    Agent there = agent("there");
    try (MetadataClient client = client()) {
      MetadataEntry real = client.fetch("there").orElseThrow();
      publish(client, "impostor", 5, real.address(), real.blob());
      publish(client, "there", real.epoch() + 1, real.address(), real.blob());
      publish(client, "elsewhere", real.epoch(), "127.0.0.1:9", real.blob());
    }

    assertThatThrownBy(() -> here.peer("impostor")).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.DISAGREES)).hasMessageContaining("'impostor'")
        .hasMessageContaining("'there'");
    assertThatThrownBy(() -> here.peer("there")).isInstanceOf(PeerMetadataException.class)
        .hasMessageContaining(Long.toString(there.epoch() + 1));
    assertThatThrownBy(() -> here.peer("elsewhere")).isInstanceOf(PeerMetadataException.class);
    try (MetadataClient client = client()) {
      publish(client, "garbage", 5, "", new byte[] {1, 2, 3});
    }
    assertThatThrownBy(() -> here.peer("garbage")).isInstanceOfSatisfying(PeerMetadataException.class,
        e -> assertThat(e.reason()).isEqualTo(Reason.MALFORMED)).hasMessageContaining("entry 'garbage'");
  }

  private static void publish(MetadataClient client, String name, long epoch, String address, byte[] blob) {
    client.publish(
        new Publication(name, epoch, Duration.ofSeconds(60), address, Map.of(), "", OptionalLong.empty(), blob));
  }

  @Test
  void publishesLabelsAndASummary() {
    Agent agent = agents.start("me",
        settings -> viaService(settings).set(dev.hawser.agent.config.Setting.LABELS, "role=prefill"));
    agent.allocate("m", 4096);

    try (MetadataClient client = client()) {
      assertThat(agent.awaitPublished(LONG)).isTrue();
      assertThat(client.fetch("me")).isPresent();
    }
    eventually(() -> entry("me").contains("\"regions\":1,\"bytes\":4096"));
    assertThat(entry("me")).contains("\"role\":\"prefill\"")
        .contains("\"rails\":[{\"name\":\"fake:fake0\",\"up\":true");
  }

  @Test
  void tellsWithItsHeartbeatsWhatItsTransfersDid() {
    Agent there = agent("there");
    Region theirs = there.allocate("kv", 1 << 20);
    Agent here = agent("here");
    Region ours = here.allocate("kv", 1 << 20);
    Peer peer = here.peer("there");
    here.write(Blocks.of(ours), peer, Blocks.of(theirs)).await(LONG);
    here.read(Blocks.of(ours, 0, 4096, 1), peer, Blocks.of(theirs, 0, 4096, 1)).await(LONG);

    eventually(() -> entry("here").contains("\"bytes\":{\"tx\":1048576,\"rx\":4096}"));
    assertThat(entry("there")).as("counts what it asked for").contains("\"bytes\":{\"tx\":0,\"rx\":0}");

    agents.kill(there);
    eventually(() -> entry("here")
        .contains("\"failed\":[{\"rail\":\"fake:fake0\",\"why\":\"nobody is there\"}]"));
  }

  /** What people see. */
  private String entry(String name) {
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(HttpRequest.newBuilder(service.uri().resolve("/v1/agents/" + name)).build(),
          HttpResponse.BodyHandlers.ofString()).body();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Cut off, the call under way would be told as a failure, and could even come after the entry's deletion. */
  @Test
  void aRenewalUnderWayEndsBeforeTheAgentLeaves() throws InterruptedException {
    LoggedWarnings warnings = LoggedWarnings.of(Presence.class.getName());
    try (warnings; GatedService gate = new GatedService(service.uri())) {
      Agent leaving = agents.start("leaving",
          settings -> settings.metadata(gate.url()).metadataTtl(Duration.ofMillis(600)));
      gate.shut();
      assertThat(gate.awaitAsked()).isTrue();
      Thread closing = Thread.ofPlatform().start(leaving::close);
      eventually(() -> closing.getState() == Thread.State.TIMED_WAITING || !closing.isAlive());
      gate.open();
      assertThat(closing.join(LONG)).isTrue();
    }

    assertThat(warnings.messages()).isEmpty();
    try (MetadataClient client = client()) {
      assertThat(client.peek("leaving")).isEmpty();
    }
  }
}
