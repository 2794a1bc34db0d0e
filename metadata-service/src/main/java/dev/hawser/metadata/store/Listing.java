/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import java.util.List;

/**
 * Entries in the order of their names.
 *
 * @param revision whatever changed after it is seen by a watch that begins after it
 * @param agents those that matched
 * @param more whether the limit ended the list; the last name is then the one to go on after
 */
public record Listing(long revision, List<Agent> agents, boolean more) {
  public Listing {
    agents = List.copyOf(agents);
  }
}
