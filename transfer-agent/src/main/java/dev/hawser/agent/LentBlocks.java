/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.GrantCheck;
import dev.hawser.memory.BlockList;

/**
 * A grant as its reader holds it: {@link Agent#accept} makes it of bytes.
 *
 * @param owner the agent that lends
 * @param ownerEpoch its incarnation
 * @param writable whether we may write to the blocks; otherwise we may read them
 * @param blocks what is lent, as the owner addresses it
 * @param generationCheck what a READ is checked against
 */
public record LentBlocks(String owner, long ownerEpoch, boolean writable, BlockList blocks,
    GrantCheck generationCheck) {

  void check(Operation operation, String peer, long peerEpoch) {
    if (!owner.equals(peer)) {
      throw new GrantException("grant: it is from '" + owner + "', but the transfer is with '" + peer
          + "'; use the grant that '" + peer + "' gave");
    }
    if (ownerEpoch != peerEpoch) {
      throw new GrantException("grant: it is from epoch " + Long.toUnsignedString(ownerEpoch) + " of '" + owner
          + "', which is now of epoch " + Long.toUnsignedString(peerEpoch) + "; ask it for a new grant");
    }
    if (writable != (operation == Operation.WRITE)) {
      throw new GrantException("grant: '" + owner + "' lent its blocks for "
          + (writable ? "writing" : "reading") + ", not for a " + operation + "; ask it for another grant");
    }
  }
}
