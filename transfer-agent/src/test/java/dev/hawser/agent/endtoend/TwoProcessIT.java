/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.agent.Agent;
import dev.hawser.agent.AgentListener;
import dev.hawser.agent.Blocks;
import dev.hawser.agent.NameInUseException;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.TransferException;
import dev.hawser.agent.TransferFuture;
import dev.hawser.agent.TransferOptions;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.memory.Region;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Two processes: what is seen of a peer that is killed, stopped, and started again. */
class TwoProcessIT {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration LEASE = Duration.ofSeconds(1);
  private static final String TRANSPORTS = "dev.hawser.agent.endtoend.Transports#all";

  private MetadataService service;

  @BeforeEach
  void start() {
    service = MetadataService.start(MetadataConfig.defaults());
  }

  @AfterEach
  void stop() {
    service.close();
  }

  private Agent agent(String name, String transport) {
    return Agent.builder(HawserConfig.builder().environment(Map.of()).name(name).transports(transport)
        .metadata(service.uri().toString()).linkLease(LEASE).metadataTtl(Duration.ofSeconds(2)).build()).start();
  }

  private PeerProcess peerProcess(String transport, int fill) throws IOException {
    return PeerProcess.start("there", transport, service.uri().toString(), fill);
  }

  private static byte last(Region region) {
    return region.segment().get(ValueLayout.JAVA_BYTE, region.length() - 1);
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void readsWritesAndNotifies(String transport) throws IOException {
    try (PeerProcess process = peerProcess(transport, 7); Agent here = agent("here", transport)) {
      Region ours = here.allocate("pool", PeerProcess.POOL);
      Peer peer = here.peer("there", LONG);

      here.read(Blocks.of(ours), peer, peer.region("pool").blocks()).await(LONG);
      assertThat(ours.segment().asSlice(0, 1 << 20).mismatch(ours.segment().asSlice(PeerProcess.POOL - (1 << 20))))
          .isEqualTo(-1);
      assertThat(last(ours)).isEqualTo((byte) 7);
      ours.segment().fill((byte) 9);
      here.write(Blocks.of(ours), peer, peer.region("pool").blocks(),
          TransferOptions.notifying("written".getBytes(StandardCharsets.UTF_8))).await(LONG);
      process.expect("written 9");
      assertThatThrownBy(() -> agent("there", transport)).isInstanceOf(NameInUseException.class);
      here.notify(peer, "end".getBytes(StandardCharsets.UTF_8)).await(LONG);
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void tellsOfAKilledPeerWithinTheLeaseAndWorksAfterItsRestart(String transport)
      throws IOException, InterruptedException {
    try (Agent here = agent("here", transport)) {
      Region ours = here.allocate("pool", PeerProcess.POOL);
      Peer peer;
      PreparedTransfer prepared;
      try (PeerProcess process = peerProcess(transport, 1)) {
        peer = here.peer("there", LONG);
        prepared = here.prepare(Operation.READ, Blocks.of(ours), peer, peer.region("pool").blocks());
        prepared.postAndAwait(LONG);
        process.kill();
      }
      // Over mapped memory what is written before the death is noticed may still end well: nobody is there to refuse.
      TransferException lost = failsWithin(LEASE.multipliedBy(3), () -> here.write(Blocks.of(ours, 0, 4096, 1), peer,
          peer.region("pool").blocks(0, 4096, 1), TransferOptions.notifying(new byte[1])).await(LONG));
      assertThat(lost.failure()).isIn(Cause.PEER_LOST, Cause.PEER_RESTARTED);
      assertThat(lost).hasMessageContaining("'there'");
      assertThat(ours.uses()).isZero();

      long oldEpoch = peer.epoch();
      try (PeerProcess again = peerProcess(transport, 2)) {
        Peer restarted = here.peer("there", LONG);
        long deadline = System.nanoTime() + LONG.toNanos();
        while (restarted.epoch() == oldEpoch) {
          assertThat(System.nanoTime()).isLessThan(deadline);
          restarted = here.peer("there", LONG);
        }
        here.read(Blocks.of(ours), restarted, restarted.region("pool").blocks()).await(LONG);
        assertThat(last(ours)).isEqualTo((byte) 2);
        assertThatThrownBy(prepared::post).isInstanceOfSatisfying(TransferException.class,
            e -> assertThat(e.failure()).isEqualTo(Cause.PEER_RESTARTED));
        here.notify(restarted, "hello".getBytes(StandardCharsets.UTF_8)).await(LONG);
        again.expect("hello 2");
      }
    }
  }

  private static TransferException failsWithin(Duration time, Runnable transfer) {
    try (AttendedTime attended = AttendedTime.begin()) {
      while (attended.elapsed().compareTo(time) < 0) {
        try {
          transfer.run();
        } catch (TransferException e) {
          assertThat(attended.elapsed()).as("the end of the transfer that failed").isLessThan(time);
          return e;
        }
      }
    }
    throw new AssertionError("transfers went on for " + time + " after the peer was killed");
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void tellsTheTargetOfAKilledInitiator(String transport) throws IOException, InterruptedException {
    CountDownLatch lost = new CountDownLatch(1);
    AtomicReference<String> who = new AtomicReference<>("");
    HawserConfig config = HawserConfig.builder().environment(Map.of()).name("here").transports(transport)
        .metadata(service.uri().toString()).linkLease(LEASE).build();
    try (PeerProcess process = peerProcess(transport, 5);
        Agent here = Agent.builder(config).listener(new AgentListener() {
          @Override
          public void peerLost(String peer, long peerEpoch, String reason) {
            who.set(peer);
            lost.countDown();
          }
        }).start()) {
      Region ours = here.allocate("pool", PeerProcess.POOL);
      here.notify(here.peer("there", LONG), "push".getBytes(StandardCharsets.UTF_8)).await(LONG);
      process.expect("pushing");
      assertThat(here.awaitNotification(LONG).peer()).isEqualTo("there");
      assertThat(last(ours)).isEqualTo((byte) 5);
      process.kill();

      try (AttendedTime attended = AttendedTime.begin()) {
        while (!lost.await(10, TimeUnit.MILLISECONDS)) {
          assertThat(attended.elapsed()).isLessThan(LEASE.multipliedBy(4));
        }
      }
      assertThat(who.get()).isEqualTo("there");
      // Its memory can be let go: nobody reaches it any more.
      while (here.pollNotification() != null) {
        assertThat(here.isClosed()).isFalse();
      }
      ours.close();
    }
  }

  @ParameterizedTest
  @MethodSource(TRANSPORTS)
  void endsAtTheDeadlineOrTheLeaseWhenThePeerIsStopped(String transport) throws IOException, InterruptedException {
    try (PeerProcess process = peerProcess(transport, 1); Agent here = agent("here", transport)) {
      Region ours = here.allocate("pool", 4096);
      Peer peer = here.peer("there", LONG);
      here.notify(peer, "hello".getBytes(StandardCharsets.UTF_8)).await(LONG);
      process.expect("hello 1");
      process.stop();
      try (AttendedTime attended = AttendedTime.begin()) {
        TransferFuture late = here.write(Blocks.of(ours), peer, peer.region("pool").blocks(0, 4096, 1),
            TransferOptions.notifying("late".getBytes(StandardCharsets.UTF_8)).timeout(Duration.ofMillis(300)));
        assertThatThrownBy(() -> late.await(LONG)).isInstanceOfSatisfying(TransferException.class,
            e -> assertThat(e.failure()).isIn(Cause.DEADLINE_EXCEEDED, Cause.PEER_LOST));
        assertThat(attended.elapsed()).isLessThan(LEASE.multipliedBy(3));
      } finally {
        process.goOn();
      }
      // It is no sticky blacklist: once it runs again, so do transfers.
      long deadline = System.nanoTime() + LONG.toNanos();
      while (true) {
        try {
          here.notify(here.peer("there", LONG), "end".getBytes(StandardCharsets.UTF_8)).await(LONG);
          break;
        } catch (TransferException e) {
          assertThat(System.nanoTime()).as(e.getMessage()).isLessThan(deadline);
        }
      }
    }
  }
}
