/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.TransferEnd.Notified;
import dev.hawser.engine.testkit.sim.SimMode;
import org.junit.jupiter.api.Test;

/**
 * The tempting simplifications of the protocol, planted one by one: the simulation must find each. The names are those
 * of the model-checked mutations.
 */
final class PlantedFaultsTest {
  private static final int SEEDS = 20_000;

  @Test
  void skipdead() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean commitMayIgnoreUnfenced(boolean heldChunk) {
            return !heldChunk;
          }
        });
  }

  @Test
  void forgetDeparted() {
    found(
        Scenario.everything(SimMode.RC),
        new TargetRules() {
          @Override
          boolean rememberDeparted() {
            return false;
          }
        });
  }

  @Test
  void stuck() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean fenceStandsInForCommit() {
            return false;
          }
        });
  }

  @Test
  void count() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new TargetRules() {
          @Override
          boolean complete(int named, int covered, int arrivals) {
            // a COMMIT that is counted twice, or a fenced path that is counted beside its COMMIT
            return arrivals + covered >= named;
          }
        });
  }

  @Test
  void otherpathOnly() {
    found(
        Scenario.onlyCuts(SimMode.RC).withSizes(1, 8),
        new InitiatorRules() {
          @Override
          boolean fenceMayTravelOnSamePath() {
            return false;
          }
        });
  }

  @Test
  void fenceNodrain() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new TargetRules() {
          @Override
          boolean drainBeforeFenceAck() {
            return false;
          }
        });
  }

  @Test
  void nofenceRdma() {
    found(Scenario.onlyCuts(SimMode.RC), replayBeforeFence());
  }

  @Test
  void nofenceTcp() {
    found(Scenario.onlyCuts(SimMode.STREAM), replayBeforeFence());
  }

  private static InitiatorRules replayBeforeFence() {
    return new InitiatorRules() {
      @Override
      boolean mayReplayBeforeFence() {
        return true;
      }

      @Override
      boolean commitMayIgnoreUnfenced(boolean heldChunk) {
        return true;
      }
    };
  }

  @Test
  void queryFirst() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean fenceBeforeQuery() {
            return false;
          }
        });
  }

  @Test
  void noquery() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean chainedNeedsQuery() {
            return false;
          }
        },
        new TargetRules() {
          @Override
          boolean rememberDelivered() {
            return false; // with the memory of what was delivered the duplicate would only cost time
          }
        });
  }

  @Test
  void forget() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new TargetRules() {
          @Override
          boolean rememberDelivered() {
            return false;
          }
        });
  }

  @Test
  void endNoLocalDrain() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean drainBeforeEnd() {
            return false;
          }
        });
  }

  @Test
  void abortNoflush() {
    found(
        Scenario.everything(SimMode.RC),
        new TargetRules() {
          @Override
          boolean abortWaitsForFlush() {
            return false;
          }
        });
  }

  @Test
  void lapseDiscard() {
    found(
        Scenario.everything(SimMode.RC),
        new TargetRules() {
          @Override
          boolean processReceivedOnLapse() {
            return false;
          }
        });
  }

  @Test
  void helloEarly() {
    found(
        Scenario.everything(SimMode.RC),
        new TargetRules() {
          @Override
          boolean answerHelloBeforeFenced() {
            return true;
          }
        });
  }

  @Test
  void sameSession() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean mayCrossSessions() {
            return true;
          }
        });
  }

  @Test
  void epochMeansNo() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          Notified notifiedAfterRestart(boolean recordPosted) {
            return Notified.NO;
          }
        });
  }

  @Test
  void unknownIsFailed() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          Notified notified(boolean recordPosted, boolean everyCommitPosted) {
            return Notified.NO;
          }
        });
  }

  @Test
  void unknownIsDone() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean postedMeansDone(boolean recordPosted, boolean everyCommitPosted) {
            return recordPosted && everyCommitPosted;
          }
        });
  }

  @Test
  void cancelMidcommit() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          Notified notified(boolean recordPosted, boolean everyCommitPosted) {
            return recordPosted && everyCommitPosted ? Notified.UNKNOWN : Notified.NO;
          }
        });
  }

  @Test
  void withdrawBehindRecord() {
    found(
        Scenario.everything(SimMode.STREAM),
        new InitiatorRules() {
          @Override
          boolean mayWithdrawBehindRecord() {
            return true;
          }
        });
  }

  @Test
  void mappedLapse() {
    found(
        Scenario.everything(SimMode.MAPPED),
        new TargetRules() {
          @Override
          boolean waitForMappedPeer() {
            return false;
          }
        });
  }

  @Test
  void generationEarly() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean generationAfterData() {
            return false;
          }
        });
  }

  @Test
  void compareSelf() {
    found(
        Scenario.onlyCuts(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean generationAgainstGrant() {
            return false;
          }
        });
  }

  @Test
  void remoteFenceOnly() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean mayReplayReadBeforeDrain() {
            return true;
          }
        });
  }

  @Test
  void bumpLate() {
    Scenario scenario = Scenario.onlyCuts(SimMode.RC).withOwnerBumpingLate();
    found(scenario);
  }

  @Test
  void closeUnsettled() {
    found(
        Scenario.everything(SimMode.RC),
        new InitiatorRules() {
          @Override
          boolean closeOnlySettled() {
            return false;
          }
        });
  }

  private static void found(Scenario scenario, InitiatorRules rules) {
    found(scenario.with(rules));
  }

  private static void found(Scenario scenario, TargetRules rules) {
    found(scenario.with(rules));
  }

  private static void found(Scenario scenario, InitiatorRules rules, TargetRules targetRules) {
    found(scenario.with(rules).with(targetRules));
  }

  /** Some seed breaks an invariant, and breaks the same one when it is replayed. */
  private static void found(Scenario scenario) {
    for (long seed = 1; seed <= SEEDS; seed++) {
      String story = Simulation.run(seed, scenario);
      if (!story.isEmpty()) {
        assertThat(Simulation.run(seed, scenario)).isEqualTo(story);
        return;
      }
    }
    throw new AssertionError("the planted fault was not found in " + SEEDS + " histories");
  }
}
