/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.mapped.Command;
import dev.hawser.engine.mapped.CommandRing;
import dev.hawser.engine.mapped.PathSegment;
import dev.hawser.engine.mapped.RecordWriter;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.Access;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Messages and flushes: none lost, none invented, in order, behind their data. */
class ShmMessageTest {
  private PathRig rig;

  @BeforeEach
  void open() {
    rig = new PathRig();
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static ByteBuffer message(int length, long seed) {
    ByteBuffer buffer = ByteBuffer.allocate(length + 3).position(3);
    for (int i = 0; i < length; i++) {
      buffer.put(3 + i, Pattern.at(i, seed));
    }
    return buffer;
  }

  private static boolean matches(byte[] bytes, long seed) {
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] != Pattern.at(i, seed)) {
        return false;
      }
    }
    return true;
  }

  @Test
  void sizesFromNothingToTheLargest() {
    int largest = rig.initiating.traits().maxMessageBytes();
    assertThat(largest).isGreaterThanOrEqualTo(4608);
    int[] sizes = {0, 1, 7, 8, 9, 4095, 4608, largest};
    for (Connection from : List.of(rig.initiator, rig.target)) {
      for (int size : sizes) {
        ByteBuffer message = message(size, size);
        assertThat(from.postMessage(size + 1, message)).isTrue();
        assertThat(message.remaining()).as("the buffer is left as it was").isEqualTo(size);
      }
    }
    rig.pump();
    for (Recorder to : List.of(rig.atInitiator, rig.atTarget)) {
      assertThat(to.messages).hasSize(sizes.length);
      assertThat(to.completed).hasSize(sizes.length).allMatch(c -> c.status() == WorkStatus.SUCCESS);
      for (int i = 0; i < sizes.length; i++) {
        assertThat(to.messages.get(i)).hasSize(sizes[i]);
        assertThat(matches(to.messages.get(i), sizes[i])).isTrue();
      }
    }
    assertThatThrownBy(() -> rig.initiator.postMessage(1, ByteBuffer.allocate(largest + 1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(Integer.toString(largest));
    assertThatThrownBy(() -> rig.target.postMessage(1, ByteBuffer.allocate(largest + 1)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void theRingsWrapAround() {
    long seed = 20251;
    Random random = new Random(seed);
    int largest = rig.initiating.traits().maxMessageBytes();
    long bytes = 0;
    int sent = 0;
    int flushes = 0;
    while (bytes < 20L * RecordWriter.CAPACITY) {
      int burst = random.nextInt(40);
      for (int i = 0; i < burst; i++) {
        int size = random.nextInt(4) == 0 ? random.nextInt(largest + 1) : random.nextInt(100);
        boolean toTarget = rig.initiator.postMessage(0, message(size, sent));
        boolean toInitiator = rig.target.postMessage(0, message(size, sent));
        assertThat(toTarget && toInitiator).isTrue();
        bytes += RecordWriter.recordBytes(size);
        sent++;
        if (random.nextInt(5) == 0) {
          assertThat(rig.initiator.postFlush(0, flushes++, random.nextBoolean())).isTrue();
        }
      }
      rig.pump();
    }
    assertThat(rig.atTarget.messages).as("seed %d", seed).hasSize(sent);
    assertThat(rig.atInitiator.messages).hasSize(sent);
    for (int i = 0; i < sent; i++) {
      assertThat(matches(rig.atTarget.messages.get(i), i)).isTrue();
      assertThat(matches(rig.atInitiator.messages.get(i), i)).isTrue();
    }
    for (int i = 0; i < flushes; i++) {
      assertThat(rig.atTarget.flushes.get(i).transfer()).isEqualTo(i);
    }
    assertThat(rig.atTarget.faults).isEmpty();
    assertThat(rig.atInitiator.faults).isEmpty();
  }

  @Test
  void aFullRingKeepsRoomForMessages() {
    int largest = rig.initiating.traits().maxMessageBytes();
    for (Connection from : List.of(rig.initiator, rig.target)) {
      Recorder to = from == rig.initiator ? rig.atTarget : rig.atInitiator;
      int posted = 0;
      while (from.segmentBudget() > 0) {
        assertThat(from.postMessage(0, message(largest, posted))).as("accepted while there is a budget").isTrue();
        posted++;
      }
      for (int i = 0; i < Connection.RESERVED_MESSAGES; i++) {
        assertThat(from.postMessage(0, message(largest, posted))).as("reserved message %d", i).isTrue();
        posted++;
      }
      while (from.postMessage(0, message(largest, posted))) {
        posted++;
      }
      rig.pump();
      assertThat(to.messages).hasSize(posted);
      for (int i = 0; i < posted; i++) {
        assertThat(matches(to.messages.get(i), i)).isTrue();
      }
      assertThat(from.segmentBudget()).isPositive();
    }
  }

  @Test
  void unpolledCompletionsStopThePosting() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ_WRITE);
    TransferPlan plan = PathRig.plan(here, 0, there, 0, 8);
    int posted = 0;
    while (rig.post(posted + 1, Op.WRITE, plan)) {
      posted++;
    }
    assertThat(rig.initiator.segmentBudget()).isZero();
    for (int i = 0; i < Connection.RESERVED_MESSAGES; i++) {
      assertThat(rig.initiator.postMessage(100_000 + i, message(10, i))).isTrue();
    }
    rig.pump();
    assertThat(rig.atInitiator.completed).hasSize(posted + Connection.RESERVED_MESSAGES);
    assertThat(rig.initiator.segmentBudget()).isPositive();
  }

  @Test
  void whatIsPostedBehindDataArrivesBehindIt() {
    long bytes = 32L << 20;
    Region here = PathRig.mapped(rig.here, bytes, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, bytes, Access.REMOTE_READ_WRITE);
    Pattern.fill(here.segment(), 6);
    // Waits first for the grant, then for many slices.
    assertThat(rig.post(1, Op.WRITE, PathRig.plan(here, 0, there, 0, bytes))).isTrue();
    assertThat(rig.initiator.postMessage(2, message(50, 1))).isTrue();
    assertThat(rig.initiator.postFlush(3, 77, false)).isTrue();
    assertThat(rig.post(4, Op.WRITE, PathRig.plan(here, 0, there, 0, 8))).isTrue();
    assertThat(rig.initiator.postFlush(5, 78, true)).isTrue();
    while (rig.atTarget.arrivals.isEmpty()) {
      assertThat(rig.atInitiator.has(2)).isFalse();
      rig.turn();
    }
    assertThat(Pattern.mismatch(there.segment(), 0, 6)).isEqualTo(-1);
    rig.pump();
    assertThat(rig.atTarget.arrivals).hasSize(3);
    assertThat(rig.atTarget.flushes).containsExactly(new Recorder.Flush(77, false), new Recorder.Flush(78, true));
    assertThat(rig.atInitiator.completed).extracting(Recorder.Completed::workId)
        .containsExactlyInAnyOrder(1L, 2L, 3L, 4L, 5L);
    for (List<Long> inOrder : List.of(List.of(1L, 4L), List.of(2L, 3L, 5L))) {
      assertThat(rig.atInitiator.completed).extracting(Recorder.Completed::workId).containsSubsequence(inOrder);
    }
  }

  @Test
  void aRefusalIsToldBeforeWhatIsChainedToIt() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ);
    TransferPlan plan = PathRig.plan(here, 0, there, 0, 8);
    int refused = 5 * CommandRing.SLOTS;
    int posted = 0;
    while (posted < refused) {
      // The first ones wait for the grant, later ones are judged at once; then the ring of commands is full.
      for (int i = 0; i < 2 * CommandRing.SLOTS && posted < refused; i++) {
        assertThat(rig.post(posted + 1, Op.WRITE, plan)).isTrue();
        assertThat(rig.initiator.postFlush(0, posted, false)).isTrue();
        posted++;
      }
      rig.pump();
    }
    assertThat(rig.atInitiator.completed).hasSize(refused).allMatch(c -> c.status() == WorkStatus.REMOTE_ACCESS);
    List<Object> expected = new ArrayList<>();
    for (int i = 0; i < refused; i++) {
      expected.add("refused 1");
      expected.add(new Recorder.Flush(i, false));
    }
    // Never a flush before its refusal; refusals may be early.
    int told = 0;
    int flushed = 0;
    for (Object arrival : rig.atTarget.arrivals) {
      if (arrival instanceof Recorder.Flush) {
        flushed++;
        assertThat(told).isGreaterThanOrEqualTo(flushed);
      } else {
        told++;
      }
    }
    assertThat(rig.atTarget.arrivals).containsExactlyInAnyOrderElementsOf(expected);
  }

  @Test
  void aMessageFromTheTargetIsCompleteWhenItWasProcessed() {
    assertThat(rig.target.postMessage(1, message(10, 1))).isTrue();
    for (int i = 0; i < 10; i++) {
      rig.target.poll(rig.atTarget);
    }
    assertThat(rig.atTarget.completed).isEmpty();
    rig.initiator.poll(rig.atInitiator);
    rig.target.poll(rig.atTarget);
    assertThat(rig.atTarget.statusOf(1)).isEqualTo(WorkStatus.SUCCESS);
  }

  @Test
  void whatTheInitiatorSaysIsCompleteWhenItWasProcessed() {
    assertThat(rig.initiator.postMessage(1, message(10, 1))).isTrue();
    assertThat(rig.initiator.postFlush(2, 7, false)).isTrue();
    for (int i = 0; i < 10; i++) {
      rig.initiator.poll(rig.atInitiator);
    }
    assertThat(rig.atInitiator.completed).as("nobody has read it: the target may be dead").isEmpty();
    rig.target.poll(rig.atTarget);
    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.atInitiator.statusOf(1)).isEqualTo(WorkStatus.SUCCESS);
    assertThat(rig.atInitiator.statusOf(2)).isEqualTo(WorkStatus.SUCCESS);
  }

  @Test
  void aMessageFromTheInitiatorIsProcessedWhateverHappensNext() {
    assertThat(rig.initiator.postMessage(1, message(10, 1))).isTrue();
    rig.target.abort();
    rig.initiator.abort();
    rig.initiator.poll(rig.atInitiator);
    assertThat(rig.atInitiator.statusOf(1)).as("not known here").isEqualTo(WorkStatus.FLUSHED);
    rig.pumpUntil(rig.target::drained);
    assertThat(rig.atTarget.messages).hasSize(1);
  }

  @Test
  void garbageInTheRingFailsThePathAndNothingElse() {
    PathSegment segment = rig.initiator.segment();
    long at = PathSegment.Side.INITIATOR.recordsFrom();
    int[][] records = {{-1, RecordWriter.MESSAGE}, {8, 99}, {7, RecordWriter.FLUSH}, {1 << 19, RecordWriter.MESSAGE}};
    for (int[] record : records) {
      segment.putInt(at, record[0]);
      segment.putInt(at + 4, record[1]);
      segment.position(PathSegment.Side.INITIATOR.recordTail(), 16);
      rig.target.poll(rig.atTarget);
      assertThat(rig.atTarget.faults).hasSize(1);
      assertThat(rig.atTarget.faults.getFirst().kind()).isEqualTo(PathFault.Kind.PROTOCOL);
      assertThat(rig.atTarget.messages).isEmpty();
      rig.close();
      rig = new PathRig();
      segment = rig.initiator.segment();
    }
    segment.position(PathSegment.Side.INITIATOR.recordTail(), -8);
    rig.target.poll(rig.atTarget);
    assertThat(rig.atTarget.faults.getFirst().detail()).contains("tail");
    // Commands that do not exist, or were not asked for.
    rig.close();
    rig = new PathRig();
    Command grant = new Command().set(Command.GRANT, 5);
    assertThat(rig.target.outgoing().offer(grant)).isTrue();
    assertThat(rig.initiator.outgoing().offer(new Command().set(88, 5))).isTrue();
    rig.turn();
    assertThat(rig.atInitiator.faults).hasSize(1);
    assertThat(rig.atTarget.faults.getFirst().kind()).isEqualTo(PathFault.Kind.PROTOCOL);
  }

  @Test
  void progressTellsThatThePeerLives() {
    Region here = PathRig.mapped(rig.here, 4096, Access.LOCAL);
    Region there = PathRig.mapped(rig.there, 4096, Access.REMOTE_READ_WRITE);
    TransferPlan plan = PathRig.plan(here, 0, there, 0, 8);
    rig.post(1, Op.WRITE, plan);
    rig.pump();
    long before = rig.target.progress();
    rig.post(2, Op.WRITE, plan);
    assertThat(rig.target.progress()).isGreaterThan(before);
    before = rig.initiator.progress();
    rig.initiator.postMessage(0, message(1, 1));
    assertThat(rig.initiator.progress()).isEqualTo(before);
    rig.target.poll(rig.atTarget);
    assertThat(rig.initiator.progress()).as("the target has read").isGreaterThan(before);
  }
}
