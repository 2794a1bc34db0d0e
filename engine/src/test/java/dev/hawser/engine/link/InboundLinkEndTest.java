/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.Greetings;
import dev.hawser.engine.testkit.IdleConnection;
import dev.hawser.engine.testkit.SilentHandler;
import dev.hawser.engine.testkit.SteppedOwner;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.engine.wire.MessageType;
import dev.hawser.engine.wire.MessageWriter;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Whoever ends a session is told when it is fenced, whatever the initiator does meanwhile. */
class InboundLinkEndTest {
  private final Host host = new Host();
  private final InboundLink link =
      new InboundLink(host, LinkSettings.defaults(), new RailShares(), new Nobody(), "initiator", 7,
          DepartedInitiator.NEVER_SEEN);
  private final AtomicInteger told = new AtomicInteger();

  @Test
  void tellsAtOnceWhenThereIsNoSession() {
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    link.doWork();

    assertThat(told).hasValue(1);
  }

  @Test
  void tellsWhenTheLastPathIsQuiet() {
    Path path = join(new PathKey(1, 1), 0);
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    work();
    assertThat(path.aborted).isTrue();
    assertThat(told).hasValue(0);

    path.drained = true;
    link.doWork();
    link.doWork();
    assertThat(told).hasValue(1);
  }

  @Test
  void tellsAlthoughTheInitiatorComesBackMeanwhile() {
    Path path = join(new PathKey(1, 1), 0);
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    link.doWork();
    Greetings again = new Greetings();
    link.hello(hello(new PathKey(1, 2), 0), again);
    link.doWork();
    assertThat(again.isUnanswered()).isTrue();

    path.drained = true;
    link.doWork();
    link.doWork();
    assertThat(again.welcome().session()).isEqualTo(2);
    assertThat(told).hasValue(1);
  }

  @Test
  void waitsForAConnectionThatCameTooLate() {
    Path path = join(new PathKey(1, 1), 0);
    Greetings second = new Greetings();
    Hello late = hello(new PathKey(2, 1), 1);
    link.hello(late, second);
    link.doWork();
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    work();
    Path straggler = new Path(new PathKey(2, 1));
    link.connected(late, second.welcome(), straggler);
    link.doWork();
    path.drained = true;
    link.doWork();
    link.doWork();
    assertThat(told).hasValue(0);

    straggler.drained = true;
    link.doWork();
    link.doWork();
    assertThat(told).hasValue(1);
    assertThat(straggler.closed).isTrue();
  }

  @Test
  void fencesOnceTheInitiatorHasHeardCloseOnEveryPath() {
    Path first = join(new PathKey(1, 1), 0);
    Path second = join(new PathKey(2, 1), 1);
    second.hears = false;
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    work();
    assertThat(first.messages).containsExactly("CLOSE");
    assertThat(second.messages).containsExactly("CLOSE");
    assertThat(first.aborted).isFalse();
    assertThat(second.aborted).isFalse();

    second.hears = true;
    work();
    assertThat(first.aborted).isTrue();
    assertThat(second.aborted).isTrue();
  }

  @Test
  void fencesAfterTheDrainTimeIfItDoesNotHear() {
    Path path = join(new PathKey(1, 1), 0);
    path.hears = false;
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    host.now += LinkSettings.defaults().drainNanos() - 1;
    work();
    assertThat(path.aborted).isFalse();

    host.now += LinkSettings.defaults().drainNanos();
    work();
    assertThat(path.aborted).isTrue();
    assertThat(path.messages).containsExactly("CLOSE");
  }

  @Test
  void closesWhatIsLeftWhenItsWorkerHasEnded() {
    Path mapped = join(new PathKey(1, 1), 0); // its initiator is stopped: it never lets go
    link.end(CloseKind.AGENT, "test", told::incrementAndGet);
    work();
    assertThat(mapped.aborted).isTrue();
    Greetings late = new Greetings();
    link.hello(hello(new PathKey(1, 2), 0), late);

    link.abandon();
    assertThat(mapped.closed).isTrue();
    assertThat(told).hasValue(0);
  }

  @Test
  void aHelloForNoPathEndsTheSessionThatItNames() {
    Path path = join(new PathKey(1, 1), 0);
    link.hello(hello(new PathKey(1, 0), 7), new Greetings());
    work();
    assertThat(path.aborted).as("that was another session").isFalse();

    Greetings answer = new Greetings();
    link.hello(hello(new PathKey(1, 0), 1), answer);
    work();
    assertThat(path.aborted).isTrue();
    assertThat(answer.refusal().code()).isEqualTo(Refusal.Code.LEFT);
  }

  /** Its NIC may have acknowledged the last word already: then that must be delivered before the session is over. */
  @Test
  void theEndWaitsForAPathThatWasWelcomed() {
    Greetings answer = new Greetings();
    Hello hello = hello(new PathKey(1, 1), 0);
    link.hello(hello, answer);
    link.doWork();
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    work();
    assertThat(told).as("the path is not there yet").hasValue(0);

    Path path = new Path(new PathKey(1, 1));
    link.connected(hello, answer.welcome(), path);
    work();
    assertThat(path.aborted).isTrue();
    assertThat(told).hasValue(0);
    path.drained = true;
    work();
    assertThat(told).hasValue(1);
    assertThat(path.closed).isTrue();
  }

  @Test
  void theEndWaitsNoLongerOnceAWelcomeIsWithdrawnOrTimeIsOver() {
    Greetings first = new Greetings();
    Hello hello = hello(new PathKey(1, 1), 0);
    link.hello(hello, first);
    link.doWork();
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    work();
    link.abandoned(hello, first.welcome());
    work();
    assertThat(told).hasValue(1);

    link.hello(hello, new Greetings());
    link.doWork();
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    work();
    assertThat(told).hasValue(1);
    host.now += LinkSettings.defaults().leaseNanos() + LinkSettings.defaults().connectTimeoutNanos() + 1;
    work();
    assertThat(told).hasValue(2);
  }

  @Test
  void aFenceWaitsForAPathThatWasWelcomed() {
    Path other = join(new PathKey(1, 1), 0);
    Greetings answer = new Greetings();
    Hello hello = hello(new PathKey(2, 1), 1);
    link.hello(hello, answer);
    link.doWork();
    other.brings(new MessageWriter().fence(1, new PathKey(2, 1).packed()));
    work();
    assertThat(other.messages).as("it could still be written to").isEmpty();

    Path late = new Path(new PathKey(2, 1));
    link.connected(hello, answer.welcome(), late);
    work();
    assertThat(late.aborted).isTrue();
    late.drained = true;
    work();
    assertThat(other.messages).containsExactly("other");
  }

  /** A session that is left in good order leaves nothing to be asked about. */
  @Test
  void canBeForgottenOnceTheInitiatorHasLeft() {
    assertThat(link.isForgettable()).isTrue();
    Path path = join(new PathKey(1, 1), 0);
    assertThat(link.isForgettable()).isFalse();
    link.hello(hello(new PathKey(1, 0), 1), new Greetings());
    assertThat(link.isForgettable()).as("something is still to be told").isFalse();
    work();
    assertThat(link.isForgettable()).as("it is not fenced yet").isFalse();

    path.drained = true;
    work();
    assertThat(link.isForgettable()).isTrue();
    assertThat(link.departed()).isEqualTo(new DepartedInitiator(3, 1,
        "initiator closed: its link, or the agent, is closed", List.of()));
  }

  @Test
  void itsSuccessorKnowsIncarnationAndSession() {
    InboundLink next = new InboundLink(host, LinkSettings.defaults(), new RailShares(), new Nobody(), "initiator", 7,
        new DepartedInitiator(3, 5, "", List.of(8L)));
    assertThat(next.departed()).as("no session has begun").isEqualTo(new DepartedInitiator(3, 5, "", List.of(8L)));

    Greetings older = new Greetings();
    next.hello(new Hello("initiator", 2, "target", 7, 0, 1, new PathKey(1, 1), "sim", "rail"), older);
    Greetings same = new Greetings();
    next.hello(hello(new PathKey(1, 1), 0), same);
    Greetings leaves = new Greetings();
    next.hello(hello(new PathKey(1, 0), 5), leaves);
    for (int i = 0; i < 3; i++) {
      next.doWork();
    }

    assertThat(older.refusal().code()).isEqualTo(Refusal.Code.SUPERSEDED);
    assertThat(same.welcome().session()).as("a word about the last session does not meet this one").isEqualTo(6);
    assertThat(next.isForgettable()).isFalse();
  }

  @Test
  void epochsAreUnsigned() {
    join(new PathKey(1, 1), 0);
    Greetings newer = new Greetings();
    link.hello(new Hello("initiator", -3, "target", 7, 0, 1, new PathKey(1, 1), "sim", "rail"), newer);
    work();
    assertThat(newer.isUnanswered()).as("the old epoch is fenced first").isTrue();
    Greetings older = new Greetings();
    link.hello(new Hello("initiator", 2, "target", 7, 0, 1, new PathKey(1, 1), "sim", "rail"), older);
    work();
    assertThat(older.refusal().code()).isEqualTo(Refusal.Code.SUPERSEDED);
  }

  private void work() {
    for (int i = 0; i < 3; i++) {
      link.doWork();
    }
  }

  private Path join(PathKey key, int session) {
    Greetings answer = new Greetings();
    Hello hello = hello(key, session);
    link.hello(hello, answer);
    link.doWork();
    Path path = new Path(key);
    link.connected(hello, answer.welcome(), path);
    link.doWork();
    return path;
  }

  private static Hello hello(PathKey key, int session) {
    return new Hello("initiator", 3, "target", 7, session, 1, key, "sim", "rail");
  }

  private static final class Path extends IdleConnection {
    private final List<Long> posted = new ArrayList<>();
    private final List<ByteBuffer> inbox = new ArrayList<>();
    final List<String> messages = new ArrayList<>();
    boolean hears = true;
    boolean aborted;
    boolean drained;
    boolean closed;

    Path(PathKey key) {
      super(key);
    }

    @Override
    public boolean postMessage(long workId, ByteBuffer message) {
      messages.add(MessageType.CLOSE.number() == message.get(message.position()) ? "CLOSE" : "other");
      posted.add(workId);
      return true;
    }

    /** Has a message arrive with the next poll. */
    void brings(ByteBuffer message) {
      inbox.add(message);
    }

    @Override
    public int poll(ConnectionEvents events) {
      List<ByteBuffer> come = List.copyOf(inbox);
      inbox.clear();
      come.forEach(message -> events.received(this, message));
      if (!hears) {
        return 0;
      }
      posted.forEach(workId -> events.completed(this, workId, WorkStatus.SUCCESS, 0));
      posted.clear();
      return 1;
    }

    @Override
    public void abort() {
      aborted = true;
    }

    @Override
    public boolean drained() {
      return drained;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private static final class Nobody extends SilentHandler {
    @Override
    public void notification(InboundNotification notification) {}
  }

  private static final class Host extends SteppedOwner {}
}
