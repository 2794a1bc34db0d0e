/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Priority;
import dev.hawser.engine.link.Turns.Outcome;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TurnsTest {
  private final Turns<String> turns = new Turns<>();
  private final Map<String, Integer> left = new HashMap<>();
  private final List<String> posted = new ArrayList<>();

  /** How many chunks have room now. */
  private int room = Integer.MAX_VALUE;

  private void post(String name, Priority priority, int chunks) {
    left.put(name, chunks);
    turns.add(name, priority);
  }

  private Outcome serve(String name) {
    if (room == 0) {
      return Outcome.WAIT;
    }
    room--;
    posted.add(name);
    return left.merge(name, -1, Integer::sum) == 0 ? Outcome.LAST : Outcome.MORE;
  }

  @Test
  void equalsTakeTurns() {
    post("a", Priority.BULK, 3);
    post("b", Priority.BULK, 2);
    assertThat(turns.pump(this::serve)).isEqualTo(5);
    assertThat(posted).containsExactly("a", "b", "a", "b", "a");
    assertThat(turns.isEmpty()).isTrue();
  }

  @Test
  void whoWaitsGoesFirst() {
    post("bulk", Priority.BULK, 100);
    room = 4;
    turns.pump(this::serve);
    post("small", Priority.LATENCY, 2);
    room = 4;
    turns.pump(this::serve);
    assertThat(posted).containsExactly("bulk", "bulk", "bulk", "bulk", "small", "small", "bulk", "bulk");
  }

  @Test
  void bulkDoesNotStarve() {
    post("bulk", Priority.BULK, 1_000);
    post("urgent", Priority.LATENCY, 1_000_000);
    for (int i = 0; i < 900; i++) {
      room = 1; // one chunk at a time, as on a crowded path
      turns.pump(this::serve);
    }
    assertThat(posted.stream().filter("bulk"::equals)).hasSize(900 / (Turns.SHARE + 1));
  }

  @Test
  void nobodyIsLost() {
    post("a", Priority.BULK, 2);
    post("b", Priority.LATENCY, 2);
    room = 0;
    assertThat(turns.pump(this::serve)).isZero();
    turns.remove("b");
    room = 9;
    assertThat(turns.pump(this::serve)).isEqualTo(2);
    assertThat(posted).containsExactly("a", "a");
    assertThat(turns.isEmpty()).isTrue();
  }
}
