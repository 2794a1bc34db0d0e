/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.doctor;

import dev.hawser.perf.peers.Peer;
import java.util.ArrayList;
import java.util.List;

/** Looks for the programs that {@code bench --compare} runs. */
public final class PeerCheck {
  private PeerCheck() {}

  /** Which are here, and how to get the others. */
  public static List<Finding> findings() {
    List<Finding> findings = new ArrayList<>();
    for (Peer peer : Peer.all()) {
      findings.add(peer.missing()
          .map(cure -> Finding.note("bench peer", peer.name() + " is missing", cure))
          .orElseGet(() -> Finding.ok("bench peer", peer.name() + " can be compared with")));
    }
    return findings;
  }
}
