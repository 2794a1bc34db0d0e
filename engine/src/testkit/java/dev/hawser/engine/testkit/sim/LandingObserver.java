/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.sim;

/** Sees every byte that moves, to hold it against the invariants. */
public interface LandingObserver {

  /** The initiator's NIC reads local memory for a WRITE. */
  void localRead(long transfer, SimConnection connection, long address, long length);

  /** Bytes of a WRITE reach the target's memory; called after they are there. */
  void placed(long transfer, SimConnection connection, long remoteAddress, long length);

  /** Bytes of a READ reach the initiator's memory; called after they are there. */
  void landed(long transfer, SimConnection connection, long localAddress, long length);
}
