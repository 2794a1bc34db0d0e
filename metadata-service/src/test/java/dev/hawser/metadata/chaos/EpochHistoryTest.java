/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.metadata.chaos.EpochHistory.Kind;
import dev.hawser.metadata.chaos.EpochHistory.Operation;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Planted violations are found, and what only looks like one is not. */
class EpochHistoryTest {
  @Test
  void acceptsWhatOverlaps() {
    assertThat(
        violations(
            new Operation(Kind.PUBLISHED, "a", 1, 0, 0, 1),
            new Operation(Kind.PUBLISHED, "a", 3, 0, 2, 9),
            new Operation(Kind.FETCHED, "a", 0, 1, 3, 4),
            new Operation(Kind.FETCHED, "a", 0, 3, 5, 6),
            new Operation(Kind.PUBLISHED, "a", 2, 0, 2, 9),
            new Operation(Kind.REFUSED, "a", 2, 3, 10, 11),
            new Operation(Kind.FETCHED, "b", 0, 0, 10, 11)))
        .isEmpty();
  }

  @Test
  void unknownMayTakeEffectLate() {
    assertThat(
        violations(
            new Operation(Kind.UNKNOWN, "a", 5, 0, 0, 1),
            new Operation(Kind.PUBLISHED, "a", 1, 0, 2, 3),
            new Operation(Kind.FETCHED, "a", 0, 1, 4, 5),
            new Operation(Kind.FETCHED, "a", 0, 5, 6, 7)))
        .isEmpty();
  }

  @Test
  void findsALostPublication() {
    assertThat(
        violations(
            new Operation(Kind.PUBLISHED, "a", 1, 0, 0, 1), new Operation(Kind.FETCHED, "a", 0, 0, 2, 3)))
        .singleElement()
        .asString()
        .startsWith("stale epoch seen");
  }

  @Test
  void findsAStaleIncarnation() {
    assertThat(
        violations(
            new Operation(Kind.PUBLISHED, "a", 1, 0, 0, 1),
            new Operation(Kind.PUBLISHED, "a", 2, 0, 2, 3),
            new Operation(Kind.FETCHED, "a", 0, 1, 4, 5)))
        .singleElement()
        .asString()
        .startsWith("stale epoch seen");
  }

  @Test
  void findsTimeThatGoesBackwardsBetweenReaders() {
    assertThat(
        violations(
            new Operation(Kind.PUBLISHED, "a", 1, 0, 0, 1),
            new Operation(Kind.UNKNOWN, "a", 2, 0, 2, 99),
            new Operation(Kind.FETCHED, "a", 0, 2, 4, 5),
            new Operation(Kind.FETCHED, "a", 0, 1, 6, 7)))
        .hasSize(1);
  }

  @Test
  void findsAnAcceptedStaleEpoch() {
    assertThat(
        violations(
            new Operation(Kind.PUBLISHED, "a", 2, 0, 0, 1), new Operation(Kind.PUBLISHED, "a", 1, 0, 2, 3)))
        .singleElement()
        .asString()
        .startsWith("stale epoch accepted");
  }

  @Test
  void findsInventions() {
    assertThat(
        violations(
            new Operation(Kind.FETCHED, "a", 0, 9, 0, 1), new Operation(Kind.PUBLISHED, "a", 9, 0, 2, 3)))
        .singleElement()
        .asString()
        .startsWith("epoch seen that nobody had published");
    assertThat(violations(new Operation(Kind.REFUSED, "a", 5, 5, 0, 1))).isNotEmpty();
  }

  private static List<String> violations(Operation... operations) {
    EpochHistory history = new EpochHistory();
    for (Operation operation : operations) {
      history.add(operation);
    }
    return history.violations();
  }
}
