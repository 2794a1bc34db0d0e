/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.testkit.sim.SimMode;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * What a simulated history may contain; the seed decides what it does contain.
 *
 * @param mode the kind of transport
 * @param maxPaths paths at most
 * @param maxTransfers transfers at most
 * @param cuts paths that break, at most
 * @param hazards what else may happen
 * @param credits notification credits
 * @param first first transfer number
 * @param rules the initiator's rules
 * @param targetRules the target's rules
 */
record Scenario(
    SimMode mode,
    int maxPaths,
    int maxTransfers,
    int cuts,
    Set<Hazard> hazards,
    int credits,
    long first,
    InitiatorRules rules,
    TargetRules targetRules) {

  /** What may happen besides paths that break. */
  enum Hazard {
    /** Paths go silent. */
    DARKNESS,
    /** Paths go silent, but one at least stays up and is heard. */
    ALL_BUT_ONE_DARK,
    /** Processes stop for a while (SIGSTOP). */
    PAUSES,
    /** The target dies and comes back. */
    TARGET_CRASH,
    /** The initiator dies and comes back. */
    INITIATOR_CRASH,
    /** Transfers are cancelled, or run into deadlines. */
    CANCELS,
    /** The target ends the session. */
    REVOKES,
    /** The initiator closes its link. */
    CLOSES,
    /** The target refuses a region. */
    REFUSALS,
    /** Other initiators are busy on the same rail, so that little may be under way. */
    COMPETITORS,
    /** The owner overwrites lent blocks before it bumps their generation: a fault of its own. */
    OWNER_BUMPS_LATE
  }

  private static Scenario of(SimMode mode, int paths, int cuts, Set<Hazard> hazards) {
    return new Scenario(
        mode, paths, 8, cuts, hazards, 1024, 1, InitiatorRules.PROTOCOL, TargetRules.PROTOCOL);
  }

  static Scenario everything(SimMode mode) {
    return of(
        mode, 3, 4, EnumSet.complementOf(EnumSet.of(Hazard.ALL_BUT_ONE_DARK, Hazard.OWNER_BUMPS_LATE)));
  }

  /** Nothing but broken paths: every transfer must come through. */
  static Scenario onlyCuts(SimMode mode) {
    return of(mode, 3, 4, Set.of());
  }

  /** Broken paths while others compete: every transfer must come through. */
  static Scenario onlyCutsInCompany(SimMode mode) {
    return of(mode, 3, 4, Set.of(Hazard.COMPETITORS));
  }

  /** Nothing but paths that go silent, while another is heard: every transfer must come through. */
  static Scenario onlySilence(SimMode mode) {
    return of(mode, 4, 6, Set.of(Hazard.DARKNESS, Hazard.ALL_BUT_ONE_DARK));
  }

  /** Nothing but processes that stop for a while: no path may be given up for that. */
  static Scenario onlyPauses(SimMode mode) {
    return of(mode, 4, 0, Set.of(Hazard.PAUSES));
  }

  /** Nothing but sessions that the target ends: only what they carried fails, and everything goes on. */
  static Scenario onlyRevokes(SimMode mode) {
    return of(mode, 3, 0, Set.of(Hazard.REVOKES));
  }

  /** Nothing but a link that is closed. */
  static Scenario onlyCloses(SimMode mode) {
    return of(mode, 3, 0, Set.of(Hazard.CLOSES));
  }

  boolean has(Hazard hazard) {
    return hazards.contains(hazard);
  }

  /** Whether every transfer must come through: a silent peer counts as lost only after the lease, which is long then. */
  boolean isPatient() {
    return has(Hazard.ALL_BUT_ONE_DARK) || (has(Hazard.PAUSES) && !has(Hazard.DARKNESS));
  }

  Scenario with(InitiatorRules newRules) {
    return new Scenario(
        mode, maxPaths, maxTransfers, cuts, hazards, credits, first, newRules, targetRules);
  }

  Scenario with(TargetRules newRules) {
    return new Scenario(mode, maxPaths, maxTransfers, cuts, hazards, credits, first, rules, newRules);
  }

  Scenario withCounts(int newCredits, long newFirst) {
    return new Scenario(
        mode, maxPaths, maxTransfers, cuts, hazards, newCredits, newFirst, rules, targetRules);
  }

  Scenario withSizes(int paths, int transfers) {
    return new Scenario(mode, paths, transfers, cuts, hazards, credits, first, rules, targetRules);
  }

  Scenario withOwnerBumpingLate() {
    Set<Hazard> more = EnumSet.of(Hazard.OWNER_BUMPS_LATE);
    more.addAll(hazards);
    return new Scenario(
        mode, maxPaths, maxTransfers, cuts, Collections.unmodifiableSet(more), credits, first, rules, targetRules);
  }
}
