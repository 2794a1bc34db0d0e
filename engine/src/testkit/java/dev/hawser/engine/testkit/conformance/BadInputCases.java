/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineException;
import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Failed;
import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** One clear error, never a hang, never a byte where none belongs; and everything else goes on. */
interface BadInputCases extends Cases {
  int PART = 64 * 1024;

  @Test
  default void refusesRangesOutsideTheRegion() {
    try (Memory local = pair().local(4L * PART);
        Memory outer = pair().target().memory(4L * PART, Access.LOCAL);
        Region part = outer.part(PART, 2L * PART, Access.REMOTE_READ_WRITE);
        Bystander bystander = new Bystander(pair())) {
      RemoteRegion honest = Memory.remote(part);
      // As if the region were much larger, so that the initiator's own checks see nothing.
      RemoteRegion forged =
          new RemoteRegion(
              honest.id(), outer.address(), outer.length(), honest.device(), honest.access(), honest.keys());
      long begin = honest.address();
      long end = begin + honest.length();
      long[][] ranges = {
          {end - 8, 16}, {end, 8}, {end - PART, PART + 1}, {begin - 1, 8}, {begin - PART, 4L * PART}, {end + 4096, 1}
      };
      for (Op op : Op.values()) {
        for (long[] range : ranges) {
          mustRefuse(op, local, outer, forged, range[0], range[1], Cause.REMOTE_ACCESS);
          // Chunks that lie in the region may have arrived; not one byte outside.
          outer.verifyExcept(begin, honest.length(), op + " of " + range[1] + " bytes at " + (range[0] - begin));
          bystander.goesOn();
        }
      }
    }
  }

  @Test
  default void refusesAddressesThatAreNoMemory() {
    try (Memory local = pair().local(PART);
        Memory remote = pair().remote(PART);
        Bystander bystander = new Bystander(pair())) {
      RemoteRegion honest = remote.remote();
      RemoteRegion forged =
          new RemoteRegion(
              honest.id(), 0, Long.MAX_VALUE, honest.device(), honest.access(), honest.keys());
      for (Op op : Op.values()) {
        for (long address : new long[] {0, 8, 0x7fff_ffff_0000_0000L, remote.address() + (1L << 40)}) {
          mustRefuse(op, local, remote, forged, address, 64, Cause.REMOTE_ACCESS);
          remote.verify(op + " of what is no memory");
          bystander.goesOn();
        }
      }
    }
  }

  @Test
  default void refusesRegionsThatAreNone() {
    try (Memory local = pair().local(PART);
        Memory remote = pair().remote(PART);
        Bystander bystander = new Bystander(pair())) {
      RemoteRegion honest = remote.remote();
      for (Op op : Op.values()) {
        for (int id : new int[] {0, -1, 0x7fff_fffe, honest.id() + 100_000}) {
          Map<String, byte[]> keys = fixture().checkedByHardware() ? damaged(honest.keys(), id) : honest.keys();
          RemoteRegion forged =
              new RemoteRegion(id, honest.address(), honest.length(), honest.device(), honest.access(), keys);
          mustRefuse(
              op, local, remote, forged, honest.address(), 64, Cause.REMOTE_ACCESS, Cause.REMOTE_REGION_CLOSED);
          remote.verify(op + " of " + forged);
          bystander.goesOn();
        }
      }
    }
  }

  private Map<String, byte[]> damaged(Map<String, byte[]> keys, int by) {
    byte[] key = keys.getOrDefault(fixture().transport(), new byte[0]);
    return Map.of(fixture().transport(), fixture().damagedKey(key, by));
  }

  @Test
  default void refusesWhatTheTargetDoesNotPermit() {
    refusesOp(Op.WRITE, Access.REMOTE_READ);
    refusesOp(Op.READ, Access.REMOTE_WRITE);
    refusesOp(Op.WRITE, Access.LOCAL);
    refusesOp(Op.READ, Access.LOCAL);
  }

  private void refusesOp(Op op, Access permitted) {
    try (Memory local = pair().local(PART);
        Memory remote = pair().target().memory(PART, permitted);
        Bystander bystander = new Bystander(pair())) {
      RemoteRegion honest = remote.remote();
      RemoteRegion forged =
          new RemoteRegion(
              honest.id(),
              honest.address(),
              honest.length(),
              honest.device(),
              Access.REMOTE_READ_WRITE,
              honest.keys());
      mustRefuse(op, local, remote, forged, honest.address() + 8, 4096, Cause.REMOTE_ACCESS);
      remote.verify("forged " + op + " of what is " + permitted);
      bystander.goesOn();

      // Not forged: the engine may refuse it sooner, but never do it.
      local.paint(seed());
      remote.paint(seed());
      try {
        Transfer transfer =
            pair().link().prepare(op, Copies.of(local, 0, remote, 0, PART).plan()).timeout(Waits.PATIENCE);
        transfer.post();
        Ends.failed(Waits.PATIENCE, transfer, pair().link(), Cause.REMOTE_ACCESS);
      } catch (IllegalArgumentException | LinkException e) {
        assertThat(e).hasMessageContaining("region");
      }
      local.verify(op + " of what is " + permitted);
      remote.verify(op + " of what is " + permitted);
    }
  }

  /** It fails and says why, the link stays, and no byte of this side's memory is sent or overwritten where it must not. */
  private void mustRefuse(
      Op op, Memory local, Memory guarded, RemoteRegion forged, long address, long bytes, Cause... causes) {
    local.paint(seed());
    guarded.paint(seed());
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(local.block(0, bytes), BlockList.of(address, bytes)),
            new Region[] {local.region()},
            new RemoteRegion[] {forged});
    Transfer transfer = pair().link().prepare(op, plan).timeout(Waits.PATIENCE);
    transfer.notification(new byte[] {13}).requestId("bad-request").post();
    Failed failed = Ends.failed(Waits.PATIENCE, transfer, pair().link(), causes);
    String what = "%s of %d bytes at 0x%x of %s: %s".formatted(op, bytes, address, forged, failed);
    assertThat(failed.notified()).as(what).isEqualTo(Notified.NO);
    assertThat(failed.message()).as(what).contains("bad-request");
    if (op == Op.WRITE) {
      local.verify(what);
    } else {
      local.verifyExcept(local.address(), bytes, what);
    }
    if (fixture().checkedByHardware()) {
      pair().link().awaitUp(Waits.PATIENCE);
    }
    assertThat(pair().link().state()).as(what).isEqualTo(Link.State.UP);
    assertThat(pair().target().inbox().waiting()).as("notifications of %s", what).isZero();
  }

  @Test
  default void failsWhenTheTargetClosesTheRegion() {
    for (Op op : Op.values()) {
      try (Memory local = pair().local(PART);
          Memory outer = pair().target().memory(3L * PART, Access.LOCAL);
          Bystander bystander = new Bystander(pair())) {
        Region part = outer.part(PART, PART, Access.REMOTE_READ_WRITE);
        Transfer transfer = pair().link().prepare(op, Copies.endless(local, Memory.remote(part)));
        transfer.timeout(Waits.PATIENCE).notification(new byte[] {13}).post();
        Ends.underWay(transfer);
        assertThat(part.close(Waits.PATIENCE).quarantined()).isFalse();
        // Its owner has it back.
        outer.paint(seed());
        Failed failed =
            Ends.failed(
                Waits.PATIENCE, transfer, pair().link(), Cause.REMOTE_REGION_CLOSED, Cause.REMOTE_ACCESS);
        assertThat(failed.notified()).isEqualTo(Notified.NO);
        outer.watch("after its region was closed under a " + op, Waits.WATCH);
        bystander.goesOn();

        transfer.post();
        Ends.failed(Waits.PATIENCE, transfer, pair().link(), Cause.REMOTE_REGION_CLOSED, Cause.REMOTE_ACCESS);
        outer.verify("after a second " + op);
        bystander.goesOn();
      }
      pair().link().awaitUp(Waits.PATIENCE);
      assertThat(pair().target().inbox().waiting()).isZero();
    }
  }

  @Test
  default void refusesLocalMemoryThatCannotBeUsed() {
    try (Memory local = pair().local(PART);
        Memory remote = pair().remote(PART);
        Bystander bystander = new Bystander(pair())) {
      Region part = local.part(0, PART, Access.LOCAL);
      Transfer write = pair().link().prepare(Op.WRITE, plan(local, part, remote)).timeout(Waits.PATIENCE);
      Ends.run(write);
      part.close(Waits.PATIENCE);
      remote.paint(seed());
      mustNotUse(write);
      remote.verify("written from a closed region");

      // Memory that its owner may not write.
      Region readOnly =
          pair().initiator().registry().register(local.bytes().asReadOnly(), Access.REMOTE_READ);
      try {
        local.paint(seed());
        remote.paint(seed());
        assertThat(readOnly.writable()).isFalse();
        mustNotUse(() -> pair().link().prepare(Op.READ, plan(local, readOnly, remote)).timeout(Waits.PATIENCE));
        local.verify("read into memory that is read-only");
        // To be sent, it is as good as any.
        Copies.all(local, remote).expect(Op.WRITE);
        Ends.run(pair().link().prepare(Op.WRITE, plan(local, readOnly, remote)).flush(true).timeout(Waits.PATIENCE));
        remote.verify("written from memory that is read-only");
      } finally {
        Memory.awaitUnused(readOnly);
        readOnly.close(Waits.PATIENCE);
      }
      bystander.goesOn();
    }
  }

  private static TransferPlan plan(Memory local, Region region, Memory remote) {
    return new TransferPlan(
        BlockPairs.of(local.all(), remote.all()), new Region[] {region}, new RemoteRegion[] {remote.remote()});
  }

  private void mustNotUse(Transfer transfer) {
    mustNotUse(() -> transfer);
  }

  private void mustNotUse(Supplier<Transfer> prepared) {
    try {
      Transfer transfer = prepared.get();
      transfer.post();
      Failed failed = Ends.failed(Waits.PATIENCE, transfer, pair().link(), Cause.LOCAL_ACCESS);
      assertThat(failed.notified()).isEqualTo(Notified.NO);
    } catch (IllegalArgumentException | IllegalStateException | LinkException e) {
      assertThat(e).hasMessageContaining("region");
    }
  }

  @Test
  default void refusesLinksThatCannotBe() {
    Engine engine = pair().initiator().engine();
    PeerDescription peer = pair().target().description();
    assertThatThrownBy(
        () -> engine.connect(new PeerDescription(peer.name(), peer.epoch() - 1, peer.addresses(), peer.transports())))
        .isInstanceOf(LinkException.class)
        .hasMessageContaining(peer.name());
    assertThat(pair().link().state()).as("an older epoch changes nothing").isEqualTo(Link.State.UP);
    assertThatThrownBy(() -> engine.connect(new PeerDescription("stranger-1", 1, peer.addresses(), Map.of())))
        .isInstanceOf(LinkException.class)
        .hasMessageContaining("stranger-1")
        .hasMessageContaining(fixture().transport());
    assertThatThrownBy(
        () -> engine.connect(
            new PeerDescription("stranger-2", 1, peer.addresses(), Map.of("pigeon", new byte[] {1}))))
        .isInstanceOf(LinkException.class)
        .hasMessageContaining("stranger-2");
    assertThatThrownBy(
        () -> {
          byte[] garbage = {1, 2, 3, (byte) 0xff, 5};
          Link link =
              engine.connect(
                  new PeerDescription("stranger-3", 1, peer.addresses(), Map.of(fixture().transport(), garbage)));
          try {
            link.awaitUp(Duration.ofSeconds(1));
          } finally {
            link.close();
          }
        })
        .isInstanceOf(LinkException.class)
        .hasMessageContaining("stranger-3");
  }

  @Test
  default void refusesSettingsThatCannotBe() throws IOException {
    AgentSetup setup = AgentSetup.of(fixture(), "wrong");
    Inbox inbox = new Inbox();
    try (MemoryRegistry registry = fixture().registry().build();
        ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      assertThatThrownBy(() -> Engine.start(setup.config(List.of("pigeon")), registry, inbox))
          .isInstanceOf(EngineException.class)
          .hasMessageContaining("pigeon");
      String port = Integer.toString(taken.getLocalPort());
      assertThatThrownBy(() -> Engine.start(setup.listen(List.of("127.0.0.1:" + port)).config(), registry, inbox))
          .isInstanceOf(EngineException.class)
          .hasMessageContaining(port);
      assertThatThrownBy(() -> Engine.start(setup.listen(List.of("here:banana")).config(), registry, inbox))
          .isInstanceOf(EngineException.class)
          .hasMessageContaining("banana");
      // What failed to start left nothing behind: the registry serves an engine that does start.
      try (LiveAgent agent = LiveAgent.start(setup, registry);
          Region region = registry.allocate(4096, Access.REMOTE_READ)) {
        assertThat(agent.engine().listenAddresses()).isNotEmpty();
        assertThat(region.registration().failures()).isEmpty();
        assertThat(region.device()).isEqualTo(Device.HOST);
      }
    }
  }

  @Test
  default void refusesClosedEngines() {
    PeerDescription peer = pair().target().description();
    LiveAgent agent = LiveAgent.start(AgentSetup.of(fixture(), "closed"));
    agent.close();
    agent.engine().close();
    assertThatThrownBy(() -> agent.engine().connect(peer)).isInstanceOfAny(LinkException.class, EngineException.class);
    assertThat(agent.engine().await(() -> false, Duration.ofMillis(50))).isFalse();
    assertThat(agent.engine().poll()).isZero();
  }

  @Test
  default void findsOutWhoAnswers() throws IOException {
    Engine engine = pair().initiator().engine();
    for (String address : pair().target().engine().listenAddresses()) {
      Engine.Identity identity = engine.probe(address, Waits.PATIENCE).orElseThrow();
      assertThat(identity.name()).isEqualTo(pair().target().name());
      assertThat(identity.epoch()).isEqualTo(pair().target().engine().epoch());
      assertThat(identity.pid()).isEqualTo(ProcessHandle.current().pid());
      assertThat(identity.host()).isNotBlank();
    }
    assertThat(engine.probe("127.0.0.1:1", Duration.ofMillis(500))).isEmpty();
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      long start = System.nanoTime();
      assertThat(engine.probe("127.0.0.1:" + mute.getLocalPort(), Duration.ofMillis(200))).isEmpty();
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Waits.MARGIN);
    }
  }
}
