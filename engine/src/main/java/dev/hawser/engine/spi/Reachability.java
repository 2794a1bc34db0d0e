/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import java.util.List;

/** Whether a peer can be reached by a transport. */
public sealed interface Reachability {

  /**
   * It can.
   *
   * @param preference higher is better: same-host mapped memory before RDMA before tcp
   * @param routes which local rail goes to which of the peer's addresses
   */
  record Reachable(int preference, List<Route> routes) implements Reachability {}

  /**
   * It cannot.
   *
   * @param reason one line that a user can act on; shown, never swallowed
   */
  record Unreachable(String reason) implements Reachability {}

  /**
   * A way to a peer.
   *
   * @param local the rail here
   * @param remote the peer's rail name
   */
  record Route(Rail local, String remote) {}
}
