/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

/**
 * The target's decisions on which the protocol's safety rests; see {@link InitiatorRules}.
 */
class TargetRules {

  /** The rules as they are. */
  static final TargetRules PROTOCOL = new TargetRules();

  /** Is everything received in memory, and processed, before a fence is acknowledged? */
  boolean drainBeforeFenceAck() {
    return true;
  }

  /** When a session lapses: is what had been received processed before the rest is aborted? */
  boolean processReceivedOnLapse() {
    return true;
  }

  /** May a HELLO be answered before the old session is completely fenced? */
  boolean answerHelloBeforeFenced() {
    return false;
  }

  /** Does a mapped rail's lapse wait until the peer let go or is dead? */
  boolean waitForMappedPeer() {
    return true;
  }

  /**
   * Is a transfer complete?
   *
   * @param named generations in the record's set
   * @param covered those of the set whose COMMIT arrived or that are fenced here
   * @param arrivals COMMITs that arrived for it on whatever path
   */
  boolean complete(int named, int covered, int arrivals) {
    return covered == named;
  }

  /** Is a delivered transfer remembered until the initiator closed it? */
  boolean rememberDelivered() {
    return true;
  }

  /** Is what may still be asked about remembered when a link without a session is dropped? */
  boolean rememberDeparted() {
    return true;
  }

  /** Does an ABORT wait for the flush or the fence of each generation that it names? */
  boolean abortWaitsForFlush() {
    return true;
  }
}
