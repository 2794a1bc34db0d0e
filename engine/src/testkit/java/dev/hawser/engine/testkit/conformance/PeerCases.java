/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.TransferEnd.Failed;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Peers that close, restart, refuse, revoke, or are not there. */
interface PeerCases extends Cases {
  int BLOCK = 1 << 20;

  @Test
  default void reportsATargetThatCloses() {
    for (Op op : Op.values()) {
      try (Pair pair = Pair.start(fixture());
          Memory local = pair.local(BLOCK);
          Memory remote = pair.remote(BLOCK)) {
        Transfer transfer = pair.link().prepare(op, Copies.endless(local, remote.remote()));
        transfer.timeout(Waits.PATIENCE).post();
        Ends.underWay(transfer);
        pair.target().engine().close();
        remote.paint(seed());
        Failed failed =
            Ends.failed(
                pair.initiator().setup().lease().plus(Waits.MARGIN),
                transfer,
                pair.link(),
                Cause.PEER_LOST,
                Cause.SESSION_ENDED);
        assertThat(failed.message()).contains(pair.target().name());
        local.paint(seed());
        remote.watch("after its engine was closed", Waits.WATCH);
        local.watch("after its transfer had failed", Waits.WATCH);
        remote.awaitUnused();
        local.awaitUnused();
      }
    }
  }

  @Test
  default void failsOldTransfersWhenTheTargetRestarts() {
    try (Pair pair = Pair.start(fixture());
        Memory local = pair.local(BLOCK);
        Memory remote = pair.remote(BLOCK)) {
      Transfer transfer = pair.link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      transfer.timeout(Waits.PATIENCE).notification(new byte[] {1}).post();
      Ends.underWay(transfer);
      AgentSetup again = pair.target().setup().restarted(pair.target().engine().listenAddresses());
      pair.target().engine().close();
      try (LiveAgent reborn = LiveAgent.start(again, pair.target().registry())) {
        Link link = pair.initiator().engine().connect(reborn.description());
        assertThat(link).isNotSameAs(pair.link());
        Ends.failed(
            pair.initiator().setup().lease().plus(Waits.MARGIN),
            transfer,
            pair.link(),
            Cause.PEER_RESTARTED,
            Cause.PEER_LOST,
            Cause.SESSION_ENDED);
        Waits.until(
            Waits.MARGIN,
            () -> "the old link is over: " + pair.link().state(),
            () -> pair.link().state() == Link.State.REFUSED || pair.link().state() == Link.State.CLOSED);
        assertThatThrownBy(transfer::post)
            .isInstanceOf(LinkException.class)
            .hasMessageContaining(pair.target().name());

        link.awaitUp(Waits.PATIENCE);
        assertThat(link.peerEpoch()).isEqualTo(reborn.engine().epoch());
        Copies copies = Copies.all(local, remote);
        local.paint(seed());
        remote.paint(seed());
        copies.expect(Op.WRITE);
        Ends.run(link.prepare(Op.WRITE, copies.plan()).timeout(Waits.PATIENCE).notification(new byte[] {2}));
        copies.verify("to the new epoch");
        assertThat(reborn.inbox().next().payload()).containsExactly(2);
        assertThat(reborn.inbox().waiting()).isZero();
        assertThatThrownBy(() -> pair.initiator().engine().connect(pair.target().description()))
            .isInstanceOf(LinkException.class)
            .hasMessageContaining(pair.target().name());
        assertThat(link.state()).isEqualTo(Link.State.UP);
        local.awaitUnused();
      }
    }
  }

  /** Both incarnations are alive, as when a newcomer took a name over: what the old link carries ends as PEER_RESTARTED. */
  @Test
  default void leavesTheOldIncarnationForTheNew() {
    try (Pair pair = Pair.start(fixture());
        Memory local = pair.local(BLOCK);
        Memory remote = pair.remote(BLOCK)) {
      Transfer transfer = pair.link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      transfer.timeout(Waits.PATIENCE).notification(new byte[] {1}).post();
      Ends.underWay(transfer);
      try (LiveAgent newer = LiveAgent.start(pair.target().setup().restarted(fixture().listen()))) {
        Link link = pair.initiator().engine().connect(newer.description());
        Failed failed = Ends.failed(Waits.MARGIN, transfer, pair.link(), Cause.PEER_RESTARTED);
        assertThat(failed.message()).contains(pair.target().name());
        local.awaitUnused();
        link.awaitUp(Waits.PATIENCE);
        try (Memory there = newer.memory(BLOCK, Access.REMOTE_READ_WRITE)) {
          Copies copies = Copies.all(local, there);
          copies.expect(Op.WRITE);
          Ends.run(link.prepare(Op.WRITE, copies.plan()).timeout(Waits.PATIENCE).flush(true));
          copies.verify("to the new incarnation");
        }
        // The old incarnation hears that the session is over, and has its memory back.
        pair.target().inbox().awaitLost(pair.initiator().name(), Waits.MARGIN);
        remote.paint(seed());
        remote.watch("at the old incarnation", Waits.WATCH);
      }
    }
  }

  @Test
  default void findsOutByItselfThatTheTargetRestarted() {
    try (Pair pair = Pair.start(fixture());
        Memory local = pair.local(BLOCK);
        Memory remote = pair.remote(BLOCK)) {
      Transfer transfer = pair.link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      transfer.timeout(Waits.PATIENCE).notification(new byte[] {1}).post();
      Ends.underWay(transfer);
      AgentSetup again = pair.target().setup().restarted(pair.target().engine().listenAddresses());
      pair.target().engine().close();
      try (LiveAgent reborn = LiveAgent.start(again, pair.target().registry())) {
        Ends.failed(
            pair.initiator().setup().lease().plus(Waits.MARGIN),
            transfer,
            pair.link(),
            Cause.PEER_RESTARTED,
            Cause.PEER_LOST,
            Cause.SESSION_ENDED);
        // Its epoch is over: nobody will ever answer for it again.
        Waits.until(
            pair.initiator().setup().lease().plus(Waits.PATIENCE),
            () -> "the old link knows that its epoch is over: " + pair.link().state() + " " + pair.link().paths(),
            () -> pair.link().state() == Link.State.REFUSED);
        assertThatThrownBy(transfer::post).isInstanceOf(LinkException.class);
        assertThatThrownBy(() -> pair.link().awaitUp(Duration.ofSeconds(1)))
            .isInstanceOf(LinkException.class)
            .hasMessageContaining(pair.target().name());
        Ends.settled(transfer, RemoteState.UNKNOWN, RemoteState.ABORTED);
        assertThat(reborn.inbox().waiting()).isZero();
      }
    }
  }

  @Test
  default void fencesTheOldEpochWhenTheInitiatorRestarts() {
    try (Pair pair = Pair.start(fixture());
        Memory local = pair.local(BLOCK);
        Memory remote = pair.remote(BLOCK)) {
      Transfer old = pair.link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      old.timeout(Waits.PATIENCE).notification(new byte[] {1}).post();
      Ends.underWay(old);
      long oldEpoch = pair.initiator().engine().epoch();
      try (LiveAgent newer = LiveAgent.start(pair.initiator().setup().restarted(fixture().listen()));
          Memory source = newer.memory(BLOCK, Access.LOCAL)) {
        Link link = newer.engine().connect(pair.target().description());
        link.awaitUp(Waits.PATIENCE);
        // Answered only when the old session was completely fenced.
        Inbox.Lost lost = pair.target().inbox().awaitLost(pair.initiator().name(), Waits.MARGIN);
        assertThat(lost.peerEpoch()).isEqualTo(oldEpoch);
        source.paint(seed());
        remote.paint(seed());
        Copies copies = Copies.all(source, remote);
        copies.expect(Op.WRITE);
        Ends.run(link.prepare(Op.WRITE, copies.plan()).timeout(Waits.PATIENCE).notification(new byte[] {2}));
        remote.watch("written by the new epoch, while the old one still runs", Waits.WATCH);
        assertThat(pair.target().inbox().next().payload()).containsExactly(2);

        Ends.failed(
            pair.initiator().setup().lease().plus(Waits.MARGIN),
            old,
            pair.link(),
            Cause.SESSION_ENDED,
            Cause.REFUSED,
            Cause.PEER_LOST);
        Waits.until(
            Waits.PATIENCE,
            () -> "the old epoch is refused as superseded: " + pair.link().state(),
            () -> pair.link().state() == Link.State.REFUSED);
        assertThat(pair.target().inbox().waiting()).isZero();
        remote.verify("the old epoch wrote nothing more");
        assertThat(link.state()).isEqualTo(Link.State.UP);
      }
    }
  }

  @Test
  default void refusesAWrongSecret() {
    String[][] secrets = {{"right-secret", "wrong-secret"}, {"right-secret", ""}, {"", "unexpected-secret"}};
    for (String[] pairOfSecrets : secrets) {
      try (LiveAgent target = LiveAgent.start(AgentSetup.of(fixture(), "target").secret(pairOfSecrets[0]));
          LiveAgent initiator = LiveAgent.start(AgentSetup.of(fixture(), "initiator").secret(pairOfSecrets[1]));
          Memory local = initiator.memory(4096, Access.LOCAL);
          Memory remote = target.memory(4096, Access.REMOTE_READ_WRITE)) {
        String what = "'" + pairOfSecrets[1] + "' at '" + pairOfSecrets[0] + "'";
        local.paint(seed());
        remote.paint(seed());
        Link link = initiator.engine().connect(target.description());
        Transfer early = link.prepare(Op.WRITE, Copies.all(local, remote).plan()).timeout(Waits.PATIENCE);
        try {
          early.post();
          Failed failed = Ends.failed(Waits.PATIENCE, early, link, Cause.REFUSED);
          assertThat(failed.message()).as(what).containsIgnoringCase("secret");
        } catch (LinkException refusedAtOnce) {
          assertThat(refusedAtOnce).as(what).hasMessageContaining("secret");
        }
        long start = System.nanoTime();
        assertThatThrownBy(() -> link.awaitUp(Waits.PATIENCE))
            .as(what)
            .isInstanceOf(LinkException.class)
            .hasMessageContaining(target.name())
            .hasMessageContaining("secret");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).as("no use in waiting").isLessThan(Waits.MARGIN);
        assertThat(link.state()).isEqualTo(Link.State.REFUSED);
        assertThatThrownBy(early::post)
            .isInstanceOf(LinkException.class)
            .hasMessageContaining(target.name())
            .hasMessageContaining("secret");
        remote.verify("written with a wrong secret");
        for (String secret : pairOfSecrets) {
          if (!secret.isEmpty()) {
            assertThatThrownBy(early::post).message().doesNotContain(secret);
          }
        }
        assertThat(target.inbox().lost()).isEmpty();
      }
    }
  }

  @Test
  default void connectsWithTheRightSecret() {
    try (Pair pair =
        Pair.start(
            AgentSetup.of(fixture(), "initiator").secret("the same secret"),
            AgentSetup.of(fixture(), "target").secret("the same secret"));
        Memory local = pair.local(BLOCK);
        Memory remote = pair.remote(BLOCK)) {
      local.paint(seed());
      Copies copies = Copies.all(local, remote);
      copies.expect(Op.WRITE);
      Ends.run(pair.prepare(Op.WRITE, copies).flush(true));
      copies.verify("with a secret");
    }
  }

  @Test
  default void saysWhyAPeerCannotBeReached() throws IOException {
    LiveAgent initiator = pair().initiator();
    try (ServerSocket mute = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String deaf = "127.0.0.1:" + mute.getLocalPort();
      for (String address : List.of("127.0.0.1:1", deaf)) {
        Link link =
            initiator
                .engine()
                .connect(
                    new PeerDescription(
                        "unreachable-" + address,
                        1,
                        List.of(address),
                        pair().target().engine().transportDescriptions()));
        try {
          long start = System.nanoTime();
          assertThatThrownBy(() -> link.awaitUp(Duration.ofMillis(300)))
              .isInstanceOf(LinkException.class)
              .hasMessageContaining("unreachable-" + address)
              .message()
              .matches(message -> message.replace("unreachable-" + address, "").contains(address), "names " + address);
          assertThat(Duration.ofNanos(System.nanoTime() - start))
              .isBetween(Duration.ofMillis(295), Duration.ofMillis(300).plus(Waits.MARGIN));
          assertThat(link.state()).isEqualTo(Link.State.CONNECTING);
        } finally {
          link.close();
        }
      }
    }
  }

  /** It never was connected, so nobody said goodbye to us: its host says that nobody listens. */
  @Test
  default void failsWhatIsPostedToAPeerThatHadClosedBefore() {
    try (Pair pair = Pair.start(fixture());
        Memory local = pair.local(4096)) {
      PeerDescription gone;
      TransferPlan plan;
      try (LiveAgent target = LiveAgent.start(AgentSetup.of(fixture(), "gone"));
          Memory remote = target.memory(4096, Access.REMOTE_READ_WRITE)) {
        gone = target.description();
        plan = Copies.all(local, remote).plan();
      }
      Link link = pair.initiator().engine().connect(gone);
      try {
        Transfer transfer = link.prepare(Op.WRITE, plan).timeout(Waits.PATIENCE);
        for (int i = 0; i < 3; i++) {
          transfer.post();
          Failed failed = Ends.failed(Waits.MARGIN, transfer, link, Cause.PEER_LOST);
          assertThat(failed.message()).contains(gone.name()).contains("nobody listens");
        }
        local.awaitUnused();
      } finally {
        link.close();
      }
    }
  }

  /** An address at which somebody else answers, as after a restart of the whole host. */
  @Test
  default void doesNotTakeAnotherForThePeer() {
    PeerDescription target = pair().target().description();
    Link link =
        pair()
            .initiator()
            .engine()
            .connect(new PeerDescription("somebody-else", 7, target.addresses(), target.transports()));
    try {
      assertThatThrownBy(() -> link.awaitUp(Duration.ofSeconds(2)))
          .isInstanceOf(LinkException.class)
          .hasMessageContaining("somebody-else");
      assertThat(link.state()).isNotEqualTo(Link.State.UP);
    } finally {
      link.close();
    }
  }

  @Test
  default void revokeFencesAndTheLinkComesBack() {
    try (Pair pair = Pair.start(fixture());
        Memory local = pair.local(BLOCK);
        Memory remote = pair.remote(BLOCK)) {
      local.paint(seed());
      Transfer transfer = pair.link().prepare(Op.WRITE, Copies.endless(local, remote.remote()));
      for (int round = 1; round <= 3; round++) {
        int losses = round;
        transfer.timeout(Waits.PATIENCE).notification(new byte[] {1}).post();
        Ends.underWay(transfer);
        boolean fenced =
            pair.target().engine().revoke(pair.initiator().name(), "the blocks are needed", Waits.PATIENCE);
        assertThat(fenced).isTrue();
        // Not a byte more, from the moment on at which it returned.
        remote.paint(seed());
        remote.watch("after its grant was revoked", Waits.WATCH);
        Failed failed = Ends.failed(Waits.PATIENCE, transfer, pair.link(), Cause.SESSION_ENDED);
        assertThat(failed.message()).contains(pair.target().name());
        Waits.until("loss " + round, () -> pair.target().inbox().lost().size() == losses);
        assertThat(pair.target().inbox().lost().getLast().reason()).contains("the blocks are needed");
        remote.awaitUnused();
        local.awaitUnused();

        // A new session, without being asked.
        pair.link().awaitUp(Waits.PATIENCE);
        remote.paint(seed());
        Copies copies = Copies.all(local, remote);
        copies.expect(Op.WRITE);
        Ends.run(pair.prepare(Op.WRITE, copies).flush(true));
        copies.verify("in the session after");
      }
      assertThat(pair.target().inbox().waiting()).isZero();
      assertThat(pair.target().engine().revoke("nobody-knows-me", "no reason", Waits.MARGIN))
          .as("a peer without a session can reach nothing")
          .isTrue();
    }
  }

  @Test
  default void disconnectsByName() {
    try (Pair pair = Pair.start(fixture());
        Memory local = pair.local(4096);
        Memory remote = pair.remote(4096)) {
      Copies copies = Copies.all(local, remote);
      for (int i = 0; i < 3; i++) {
        Ends.run(pair.prepare(Op.WRITE, copies).notification(new byte[] {8}));
        assertThat(pair.target().inbox().next().payload()).containsExactly(8);
      }
      pair.initiator().engine().disconnect("nobody-knows-me");
      pair.initiator().engine().disconnect(pair.target().name());
      assertThat(pair.link().state()).isEqualTo(Link.State.CLOSED);
      assertThatThrownBy(() -> pair.link().prepare(Op.WRITE, copies.plan()).post())
          .isInstanceOf(LinkException.class)
          .hasMessageContaining(pair.target().name());
      assertThatThrownBy(() -> pair.link().awaitUp(Duration.ofMillis(100))).isInstanceOf(LinkException.class);
      pair.target().inbox().awaitLost(pair.initiator().name(), Waits.MARGIN);
      Link again = pair.initiator().engine().connect(pair.target().description());
      again.awaitUp(Waits.PATIENCE);
      Ends.run(again.prepare(Op.WRITE, copies.plan()).timeout(Waits.PATIENCE));
      // The target does not take it for something that it has seen.
      Transfer told = again.prepare(Op.WRITE, copies.plan()).timeout(Waits.PATIENCE).notification(new byte[] {9});
      Ends.run(told);
      assertThat(pair.target().inbox().next().payload()).containsExactly(9);
      Ends.settled(told, RemoteState.DELIVERED);
    }
  }
}
