/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.InboundNotification;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.HelloReply;
import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WaitSet;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.engine.wire.MessageType;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Whoever ends a session is told when it is fenced, whatever the initiator does meanwhile. */
class InboundLinkEndTest {
  private final Host host = new Host();
  private final InboundLink link =
      new InboundLink(host, LinkSettings.defaults(), new Nobody(), "initiator", 7);
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
    Answer again = new Answer();
    link.hello(hello(new PathKey(1, 2), 0), again);
    link.doWork();
    assertThat(again.welcomes).isEmpty();

    path.drained = true;
    link.doWork();
    link.doWork();
    assertThat(again.welcomes).hasSize(1);
    assertThat(told).hasValue(1);
  }

  @Test
  void waitsForAConnectionThatCameTooLate() {
    Path path = join(new PathKey(1, 1), 0);
    Answer second = new Answer();
    Hello late = hello(new PathKey(2, 1), 1);
    link.hello(late, second);
    link.doWork();
    link.end(CloseKind.SESSION, "test", told::incrementAndGet);
    work();
    Path straggler = new Path(new PathKey(2, 1));
    link.connected(late, second.welcomes.getFirst(), straggler);
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

  private void work() {
    for (int i = 0; i < 3; i++) {
      link.doWork();
    }
  }

  private Path join(PathKey key, int session) {
    Answer answer = new Answer();
    Hello hello = hello(key, session);
    link.hello(hello, answer);
    link.doWork();
    Path path = new Path(key);
    link.connected(hello, answer.welcomes.getFirst(), path);
    link.doWork();
    return path;
  }

  private static Hello hello(PathKey key, int session) {
    return new Hello("initiator", 3, "target", 7, session, 1, key, "sim", "rail");
  }

  private static final class Answer implements HelloReply {
    final List<Welcome> welcomes = new ArrayList<>();

    @Override
    public void welcome(Welcome welcome) {
      welcomes.add(welcome);
    }

    @Override
    public void refuse(Refusal refusal) {
      throw new AssertionError(refusal);
    }
  }

  private static final class Path implements Connection {
    private final PathKey key;
    private final List<Long> posted = new ArrayList<>();
    final List<String> messages = new ArrayList<>();
    boolean hears = true;
    boolean aborted;
    boolean drained;
    boolean closed;

    Path(PathKey key) {
      this.key = key;
    }

    @Override
    public PathKey key() {
      return key;
    }

    @Override
    public String describe() {
      return "path " + key;
    }

    @Override
    public int segmentBudget() {
      return 1;
    }

    @Override
    public int maxSegments() {
      return 1;
    }

    @Override
    public boolean postData(long workId, DataRequest request) {
      return false;
    }

    @Override
    public boolean postFlush(long workId, long transfer, boolean abort) {
      return false;
    }

    @Override
    public boolean postMessage(long workId, ByteBuffer message) {
      messages.add(MessageType.CLOSE.number() == message.get(message.position()) ? "CLOSE" : "other");
      posted.add(workId);
      return true;
    }

    @Override
    public void flushPosted() {}

    @Override
    public int poll(ConnectionEvents events) {
      if (!hears) {
        return 0;
      }
      posted.forEach(workId -> events.completed(this, workId, WorkStatus.SUCCESS, 0));
      posted.clear();
      return 1;
    }

    @Override
    public long progress() {
      return 0;
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
    public void attach(WaitSet waitSet) {}

    @Override
    public boolean arm() {
      return true;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private static final class Nobody implements InboundHandler {
    @Override
    public void notification(InboundNotification notification) {}

    @Override
    public void counted(String peer, long peerEpoch, long counter, @Nullable String requestId) {}

    @Override
    public void aborted(String peer, long peerEpoch, long transfer, @Nullable String requestId) {}

    @Override
    public void peerLost(String peer, long peerEpoch, String reason) {}
  }

  private static final class Host implements LinkHost {
    long now = 1;

    @Override
    public long nanoTime() {
      return now;
    }

    @Override
    public long random(long bound) {
      return 0;
    }

    @Override
    public PathOpener opener() {
      throw new AssertionError("a target opens no paths");
    }

    @Override
    public WaitSet waitSet() {
      return new WaitSet() {
        @Override
        public void add(int fd, int interest) {}

        @Override
        public void modify(int fd, int interest) {}

        @Override
        public void remove(int fd) {}
      };
    }

    @Override
    public Region scratch() {
      throw new AssertionError("a target reads no grants");
    }

    @Override
    public int takeScratchWord() {
      return -1;
    }

    @Override
    public void releaseScratchWord(int index) {}

    @Override
    public void wake() {}

    @Override
    public boolean tryEnter() {
      return true;
    }

    @Override
    public void leave(boolean more) {}

    @Override
    public boolean runUntil(BooleanSupplier condition, long deadlineNanos) {
      return condition.getAsBoolean();
    }

    @Override
    public void log(System.Logger.Level level, String line) {}
  }
}
