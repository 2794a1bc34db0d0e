/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class EventLogTest {
  private final EventLog log = new EventLog(4, 100);

  @Test
  void readsFromTheCursorOn() {
    append(101, 103, 104);
    long cursor = log.after(101);
    EventLog.Batch first = log.read(cursor, 1);
    assertThat(revisions(first)).containsExactly(103);
    assertThat(revisions(log.read(first.next(), 10))).containsExactly(104);
    assertThat(revisions(log.read(log.after(102), 10))).as("between two revisions").containsExactly(103, 104);
    assertThat(revisions(log.read(log.after(104), 10))).isEmpty();
  }

  @Test
  void whatIsNotKnownIsLost() {
    assertThat(log.after(99)).isEqualTo(EventLog.LOST);
    assertThat(log.after(105)).as("the log lags behind").isEqualTo(log.present().cursor());
    assertThat(log.after(100)).isNotEqualTo(EventLog.LOST);
    append(101, 102, 103, 104, 105, 106);
    assertThat(log.after(101)).isEqualTo(EventLog.LOST);
    assertThat(revisions(log.read(log.after(102), 10))).containsExactly(103, 104, 105, 106);
  }

  @Test
  void slowCursorLearnsThatItLost() {
    long cursor = log.present().cursor();
    append(101, 102, 103, 104);
    assertThat(revisions(log.read(cursor, 10))).hasSize(4);
    append(105);
    assertThat(log.read(cursor, 10).next()).isEqualTo(EventLog.LOST);
  }

  @Test
  void gapIsSeenEvenFromThePresent() {
    append(101);
    long cursor = log.present().cursor();
    log.forget(200);
    assertThat(log.read(cursor, 10).next()).isEqualTo(EventLog.LOST);
    assertThat(log.after(101)).isEqualTo(EventLog.LOST);
    append(201);
    assertThat(revisions(log.read(log.after(200), 10))).containsExactly(201);
  }

  @Test
  void wakesListenersUntilTheyLeave() {
    AtomicInteger woken = new AtomicInteger();
    Runnable leave = log.listen(woken::incrementAndGet);
    append(101);
    leave.run();
    append(102);
    assertThat(woken).hasValue(1);
  }

  @Test
  void refusesRevisionsOutOfOrder() {
    append(102);
    assertThatThrownBy(() -> append(101)).isInstanceOf(IllegalArgumentException.class);
  }

  private void append(long... revisions) {
    for (long revision : revisions) {
      log.append(new Event(revision, Event.Kind.PUT, "a", 1, "", Labels.NONE));
    }
  }

  private static long[] revisions(EventLog.Batch batch) {
    return batch.events().stream().mapToLong(Event::revision).toArray();
  }
}
