/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.TransferEnd.Notified;

/**
 * The initiator's decisions on which the protocol's safety rests, each in one place. They are those
 * of the model-checked protocol ({@code docs/protocol.md}, section "Rules"); the tests plant the
 * tempting simplifications here, one by one, and the simulation must find each.
 */
class InitiatorRules {

  /** The rules as they are. */
  static final InitiatorRules PROTOCOL = new InitiatorRules();

  /**
   * May the commit phase start while a generation that carried data is dead and not fenced? Never:
   * an acknowledgement means received, not visible, even if that generation held nothing
   * unacknowledged.
   *
   * @param heldChunk whether it held an unacknowledged chunk of this transfer
   */
  boolean commitMayIgnoreUnfenced(boolean heldChunk) {
    return false;
  }

  /** May a WRITE's chunk be replayed before the target has fenced the path that held it? */
  boolean mayReplayBeforeFence() {
    return false;
  }

  /** May a READ's chunk be replayed before our own side of its path is drained? */
  boolean mayReplayReadBeforeDrain() {
    return false;
  }

  /** Does a fenced generation stand in for its COMMIT? Yes, or a dead path would hang the end. */
  boolean fenceStandsInForCommit() {
    return true;
  }

  /** May a FENCE travel over another generation of the very path? Yes, or one path alone hangs. */
  boolean fenceMayTravelOnSamePath() {
    return true;
  }

  /** Must our own side be drained before a cancelled transfer ends? */
  boolean drainBeforeEnd() {
    return true;
  }

  /** May data be taken back that a record was posted behind? */
  boolean mayWithdrawBehindRecord() {
    return false;
  }

  /**
   * What is said of the notification when a transfer ends without its acknowledgement.
   *
   * @param recordPosted whether the point of no return was passed
   * @param everyCommitPosted whether each COMMIT had been posted too
   */
  Notified notified(boolean recordPosted, boolean everyCommitPosted) {
    return recordPosted ? Notified.UNKNOWN : Notified.NO;
  }

  /** May a transfer be called done because record and COMMITs were posted, unacknowledged? */
  boolean postedMeansDone(boolean recordPosted, boolean everyCommitPosted) {
    return false;
  }

  /** What is said of the notification when the target restarted. */
  Notified notifiedAfterRestart(boolean recordPosted) {
    return recordPosted ? Notified.UNKNOWN : Notified.NO;
  }

  /** Must each generation that carried data be flushed or fenced before ABORT counts? */
  boolean abortNeedsFlush() {
    return true;
  }

  /** After a chained record's path is fenced: must the target be asked before a replay? */
  boolean chainedNeedsQuery() {
    return true;
  }

  /** Must the chained record's path be fenced before the target is asked? */
  boolean fenceBeforeQuery() {
    return true;
  }

  /** May a transfer that began in a session go on in the next one? */
  boolean mayCrossSessions() {
    return false;
  }

  /** Is the grant's generation read only after the last data completion of all paths? */
  boolean generationAfterData() {
    return true;
  }

  /** Is the generation compared with the number in the grant (and not with an earlier reading)? */
  boolean generationAgainstGrant() {
    return true;
  }

  /** Is everything below closedBelow settled on both sides before it moves? */
  boolean closeOnlySettled() {
    return true;
  }
}
