/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.testkit.sim.SimMode;

/**
 * What a simulated history may contain; the seed decides what it does contain.
 *
 * @param mode the kind of transport
 * @param maxPaths paths at most
 * @param maxTransfers transfers at most
 * @param reads whether there are READs
 * @param cuts paths that break, at most
 * @param darkness whether paths may also go silent
 * @param spared whether one path at least stays up and is heard
 * @param pauses whether processes stop for a while (SIGSTOP)
 * @param targetCrash whether the target may die and come back
 * @param initiatorCrash whether the initiator may die and come back
 * @param cancels whether transfers are cancelled or run into deadlines
 * @param revokes whether the target ends the session now and then
 * @param closes whether the initiator closes its link
 * @param refusals whether the target may refuse a region
 * @param credits notification credits
 * @param first first transfer number
 * @param rules the initiator's rules
 * @param targetRules the target's rules
 * @param ownerBumpsLate the owner overwrites lent blocks before it bumps their generation
 */
record Scenario(
    SimMode mode,
    int maxPaths,
    int maxTransfers,
    boolean reads,
    int cuts,
    boolean darkness,
    boolean spared,
    boolean pauses,
    boolean targetCrash,
    boolean initiatorCrash,
    boolean cancels,
    boolean revokes,
    boolean closes,
    boolean refusals,
    int credits,
    long first,
    InitiatorRules rules,
    TargetRules targetRules,
    boolean ownerBumpsLate) {

  static Scenario everything(SimMode mode) {
    return new Scenario(
        mode,
        3,
        8,
        true,
        4,
        true,
        false,
        true,
        true,
        true,
        true,
        true,
        true,
        true,
        1024,
        1,
        InitiatorRules.PROTOCOL,
        TargetRules.PROTOCOL,
        false);
  }

  /** Nothing but broken paths: every transfer must come through. */
  static Scenario onlyCuts(SimMode mode) {
    return new Scenario(
        mode,
        3,
        8,
        true,
        4,
        false,
        false,
        false,
        false,
        false,
        false,
        false,
        false,
        false,
        1024,
        1,
        InitiatorRules.PROTOCOL,
        TargetRules.PROTOCOL,
        false);
  }

  /** Nothing but paths that go silent, while another is heard: every transfer must come through. */
  static Scenario onlySilence(SimMode mode) {
    return onlyQuiet(mode, 6, true);
  }

  /** Nothing but processes that stop for a while: no path may be given up for that. */
  static Scenario onlyPauses(SimMode mode) {
    return onlyQuiet(mode, 0, false);
  }

  private static Scenario onlyQuiet(SimMode mode, int cuts, boolean silence) {
    return new Scenario(
        mode,
        4,
        8,
        true,
        cuts,
        silence,
        silence,
        !silence,
        false,
        false,
        false,
        false,
        false,
        false,
        1024,
        1,
        InitiatorRules.PROTOCOL,
        TargetRules.PROTOCOL,
        false);
  }

  /** Whether every transfer must come through: a silent peer counts as lost only after the lease, which is long then. */
  boolean isPatient() {
    return spared || (pauses && !darkness);
  }

  /** Nothing but sessions that the target ends: only what they carried fails, and everything goes on. */
  static Scenario onlyRevokes(SimMode mode) {
    return onlyPartings(mode, true, false);
  }

  /** Nothing but a link that is closed. */
  static Scenario onlyCloses(SimMode mode) {
    return onlyPartings(mode, false, true);
  }

  private static Scenario onlyPartings(SimMode mode, boolean revokes, boolean closes) {
    return new Scenario(
        mode,
        3,
        8,
        true,
        0,
        false,
        false,
        false,
        false,
        false,
        false,
        revokes,
        closes,
        false,
        1024,
        1,
        InitiatorRules.PROTOCOL,
        TargetRules.PROTOCOL,
        false);
  }

  Scenario with(InitiatorRules newRules) {
    return new Scenario(
        mode, maxPaths, maxTransfers, reads, cuts, darkness, spared, pauses, targetCrash, initiatorCrash, cancels,
        revokes,
        closes,
        refusals, credits, first, newRules, targetRules, ownerBumpsLate);
  }

  Scenario with(TargetRules newRules) {
    return new Scenario(
        mode, maxPaths, maxTransfers, reads, cuts, darkness, spared, pauses, targetCrash, initiatorCrash, cancels,
        revokes,
        closes,
        refusals, credits, first, rules, newRules, ownerBumpsLate);
  }

  Scenario withCounts(int newCredits, long newFirst) {
    return new Scenario(
        mode, maxPaths, maxTransfers, reads, cuts, darkness, spared, pauses, targetCrash, initiatorCrash, cancels,
        revokes,
        closes,
        refusals, newCredits, newFirst, rules, targetRules, ownerBumpsLate);
  }

  Scenario withSizes(int paths, int transfers) {
    return new Scenario(
        mode, paths, transfers, reads, cuts, darkness, spared, pauses, targetCrash, initiatorCrash, cancels, revokes,
        closes,
        refusals, credits, first, rules, targetRules, ownerBumpsLate);
  }

  Scenario withOwnerBumpingLate() {
    return new Scenario(
        mode, maxPaths, maxTransfers, reads, cuts, darkness, spared, pauses, targetCrash, initiatorCrash, cancels,
        revokes,
        closes,
        refusals, credits, first, rules, targetRules, true);
  }
}
