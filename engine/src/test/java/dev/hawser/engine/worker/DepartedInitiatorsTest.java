/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.link.DepartedInitiator;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is kept, and for how many. */
class DepartedInitiatorsTest {
  private final DepartedInitiators departed = new DepartedInitiators(3, 10);

  private static DepartedInitiator settled(int session) {
    return new DepartedInitiator(7, session, "over", List.of());
  }

  private static DepartedInitiator asking(int session, Long... numbers) {
    return new DepartedInitiator(7, session, "over", List.of(numbers));
  }

  @Test
  void givesBackWhatItKept() {
    departed.put("a", settled(1));
    departed.put("b", asking(2, 8L));

    assertThat(departed.take("a")).isEqualTo(settled(1));
    assertThat(departed.take("b")).isEqualTo(asking(2, 8L));
    assertThat(departed.take("a")).isEqualTo(DepartedInitiator.NEVER_SEEN);
    assertThat(departed.size()).isZero();
  }

  @Test
  void theManyThatLeftDoNotPushOutTheFewThatMayAsk() {
    departed.put("cut off", asking(1, 1L, 2L));
    for (int i = 0; i < 1000; i++) {
      departed.put("name-" + i, settled(1));
    }

    assertThat(departed.size()).isEqualTo(4);
    assertThat(departed.take("name-996")).isEqualTo(DepartedInitiator.NEVER_SEEN);
    assertThat(departed.take("name-999")).isEqualTo(settled(1));
    assertThat(departed.take("cut off")).isEqualTo(asking(1, 1L, 2L));
  }

  @Test
  void theNumbersAreBounded() {
    departed.put("a", asking(1, 1L, 2L, 3L, 4L));
    departed.put("b", asking(1, 1L, 2L, 3L, 4L));
    departed.put("c", asking(1, 1L, 2L, 3L, 4L));

    assertThat(departed.take("a")).isEqualTo(DepartedInitiator.NEVER_SEEN);
    assertThat(departed.take("b").delivered()).hasSize(4);
    departed.put("d", asking(1, 1L, 2L, 3L, 4L));
    assertThat(departed.take("c").delivered()).as("there is room again").hasSize(4);
  }

  @Test
  void whoNeverHadASessionIsNotKept() {
    departed.put("a", DepartedInitiator.NEVER_SEEN);

    assertThat(departed.size()).isZero();
  }
}
