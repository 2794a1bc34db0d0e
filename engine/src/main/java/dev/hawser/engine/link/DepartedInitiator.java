/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.List;

/**
 * What a target keeps of an initiator once its link is dropped: enough to refuse an older incarnation, to tell a session
 * from its predecessors, and to answer for the transfers of a session that did not end in good order. Everything else
 * that still arrives belongs to a session that is over, and is dropped as such.
 *
 * @param epoch of the newest incarnation that was seen; 0: none was
 * @param session of the last session
 * @param reason why that ended, for a path that comes up only now
 * @param delivered numbers of transfers that were delivered and that the initiator may still ask about; all others of
 *     sessions that are over count as aborted
 */
public record DepartedInitiator(long epoch, int session, String reason, List<Long> delivered) {
  /** Of a name that was never seen. */
  public static final DepartedInitiator NEVER_SEEN = new DepartedInitiator(0, 0, "", List.of());

  public DepartedInitiator {
    delivered = List.copyOf(delivered);
  }
}
