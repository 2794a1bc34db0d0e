/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.Grant;
import dev.hawser.agent.LentBlocks;
import dev.hawser.agent.Peer;
import dev.hawser.memory.BlockList;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The functions about grants. */
@SuppressWarnings("unused") // all by method handles of the table
final class GrantFunctions {
  private final Handles handles;

  GrantFunctions(Handles handles) {
    this.handles = handles;
  }

  private Grant grant(long grant) {
    return handles.get(grant, Grant.class, "grant");
  }

  long make(long agent, long blocks, long peer, long writable, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    BlockList list = handles.get(blocks, BlockList.class, "blocks");
    Grant grant;
    if (peer == 0) {
      if (writable != 0) {
        throw new IllegalArgumentException("peer: blocks are lent for writing to one peer; name it");
      }
      grant = held.agent().grant(list);
    } else {
      Peer borrower = handles.get(peer, Peer.class, "peer");
      grant = writable != 0 ? held.agent().grantForWriting(list, borrower) : held.agent().grant(list, borrower);
    }
    Foreign.putHandle(out, handles.add(grant, held));
    return 0;
  }

  long bytes(long grant, long buffer, long capacity) {
    return Foreign.copyOut(grant(grant).toBytes(), buffer, capacity);
  }

  long bump(long grant) {
    grant(grant).bump();
    return 0;
  }

  long revoke(long grant, long timeout) {
    grant(grant).revoke(Duration.ofNanos(timeout));
    handles.remove(grant);
    return 0;
  }

  long accept(long agent, long bytes, long count, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = handles.get(agent, HeldAgent.class, "agent");
    LentBlocks lent = held.agent().accept(Foreign.bytes(bytes, count, "bytes"));
    Foreign.putHandle(out, handles.add(lent, held));
    return 0;
  }

  long describe(long lent, long out) {
    Structs.at(out, Structs.Lent.BYTES, "hawser_lent");
    LentBlocks described = handles.get(lent, LentBlocks.class, "lent");
    Foreign.putInt(out + Structs.Lent.WRITABLE, described.writable() ? 1 : 0);
    Foreign.putLong(out + Structs.Lent.OWNER_EPOCH, described.ownerEpoch());
    Foreign.fixedText(described.owner().getBytes(StandardCharsets.UTF_8), out + Structs.Lent.OWNER,
        Structs.Lent.BYTES - Structs.Lent.OWNER);
    Foreign.putLong(out + Structs.Lent.BLOCKS, handles.add(described.blocks(), described));
    return 0;
  }
}
