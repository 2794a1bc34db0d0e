/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.verbs.abi.GidAttributes;
import dev.hawser.engine.verbs.abi.PortAttributes;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsContext;
import org.jspecify.annotations.Nullable;

/** By which of its GIDs a port speaks to its peers. */
final class GidChoice {
  /** An address vector has a byte for it. */
  private static final int MAX_INDEX = 255;

  private GidChoice() {}

  /**
   * Chooses: the index that the user named, else on InfiniBand the first, else on Ethernet RoCE v2 before v1, and there an
   * IPv4 address before a global IPv6 one before a link-local one.
   *
   * @throws IllegalArgumentException if there is none; the message says what there is
   */
  static GidAttributes choose(VerbsContext context, int port, PortAttributes attributes, int wanted) {
    String where = context.name() + " port " + port;
    if (wanted >= 0) {
      if (wanted >= attributes.gids()) {
        throw new IllegalArgumentException(
            "verbs.gid-index=" + wanted + ": " + where + " has GIDs 0 to " + (attributes.gids() - 1));
      }
      GidAttributes named = context.queryGid(port, wanted);
      if (named.empty()) {
        throw new IllegalArgumentException(
            "verbs.gid-index=" + wanted + ": " + where + " has no GID there, but " + table(context, port, attributes));
      }
      return named;
    }
    GidAttributes best = null;
    for (int i = 0; i < Math.min(attributes.gids(), MAX_INDEX + 1); i++) {
      GidAttributes each = context.queryGid(port, i);
      if (!each.empty() && rank(each, attributes) > (best == null ? 0 : rank(best, attributes))) {
        best = each;
      }
    }
    if (best == null) {
      throw new IllegalArgumentException(
          where + " has no GID: give its network interface an address (`rdma link`, `ip address`)");
    }
    return best;
  }

  /** As {@link #choose}; none where there is none yet, on a port that is down. */
  static GidAttributes orNone(VerbsContext context, int port, PortAttributes attributes, int wanted) {
    try {
      return choose(context, port, attributes, wanted);
    } catch (IllegalArgumentException notYet) {
      return GidAttributes.NONE;
    }
  }

  private static int rank(@Nullable GidAttributes gid, PortAttributes port) {
    if (gid == null) {
      return 0;
    }
    if (!port.ethernet()) {
      return gid.linkLocal() ? 2 : 1;
    }
    boolean old = gid.type() == VerbsAbi.GidType.ROCE_V1;
    return (old ? 0 : 3) + (gid.ipv4() ? 3 : gid.linkLocal() ? 1 : 2);
  }

  private static String table(VerbsContext context, int port, PortAttributes attributes) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < attributes.gids(); i++) {
      GidAttributes each = context.queryGid(port, i);
      if (!each.empty()) {
        text.append(text.isEmpty() ? "" : ", ").append(each);
      }
    }
    return text.isEmpty() ? "none at all" : text.toString();
  }
}
