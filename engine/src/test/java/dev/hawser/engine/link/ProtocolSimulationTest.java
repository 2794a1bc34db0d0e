/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.testkit.sim.SimMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The protocol under thousands of seeded histories. {@code -Dhawser.sim.seeds=N} runs more of them, {@code
 * -Dhawser.sim.seed=S} replays one.
 */
final class ProtocolSimulationTest {
  private static final int SEEDS = Integer.getInteger("hawser.sim.seeds", 1000);
  private static final long FIRST = Long.getLong("hawser.sim.seed", 1);

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void holdsUnderEverything(SimMode mode) {
    run(Scenario.everything(mode), SEEDS);
  }

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void everyTransferComesThroughBrokenPaths(SimMode mode) {
    run(Scenario.onlyCuts(mode), SEEDS);
  }

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void everyTransferComesThroughBrokenPathsInCompany(SimMode mode) {
    run(Scenario.onlyCutsInCompany(mode), SEEDS);
  }

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void everyTransferComesThroughWhenPathsGoSilent(SimMode mode) {
    run(Scenario.onlySilence(mode), SEEDS);
  }

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void noPathIsGivenUpBecauseAProcessStopped(SimMode mode) {
    run(Scenario.onlyPauses(mode), SEEDS);
  }

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void onlyWhatARevokedSessionCarriedFails(SimMode mode) {
    run(Scenario.onlyRevokes(mode), SEEDS / 2);
  }

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void aLinkThatIsClosedIsGoneOnBothSides(SimMode mode) {
    run(Scenario.onlyCloses(mode), SEEDS / 2);
  }

  @ParameterizedTest
  @EnumSource(SimMode.class)
  void holdsWithFewCreditsAcrossTheWrapOfTransferNumbers(SimMode mode) {
    run(Scenario.everything(mode).withCounts(2, 0x7fff_fffeL), SEEDS / 2);
    run(Scenario.onlyCuts(mode).withCounts(1, 0xffff_fffeL), SEEDS / 2);
  }

  @Test
  void theSameSeedGivesTheSameHistory() {
    InitiatorRules broken =
        new InitiatorRules() {
          @Override
          boolean drainBeforeEnd() {
            return false;
          }
        };
    Scenario scenario = Scenario.everything(SimMode.RC).with(broken);
    for (long seed = 1; seed < 3000; seed++) {
      String first = Simulation.run(seed, scenario);
      if (!first.isEmpty()) {
        assertThat(Simulation.run(seed, scenario)).isEqualTo(first);
        return;
      }
    }
    throw new AssertionError("no seed fails with the planted fault");
  }

  private static void run(Scenario scenario, int seeds) {
    for (long seed = FIRST; seed < FIRST + seeds; seed++) {
      assertThat(Simulation.run(seed, scenario)).isEmpty();
    }
  }
}
