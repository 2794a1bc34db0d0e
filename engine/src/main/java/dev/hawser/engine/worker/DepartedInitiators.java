/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import dev.hawser.engine.link.DepartedInitiator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What is kept of initiators that have no link here any more; of the latest only, so that ever new names fill no memory.
 * Those that left with nothing open and those that may still ask have their room apart: the many that come and go do not
 * push out the few that were cut off. Thread-safe.
 */
final class DepartedInitiators {
  private final int most;
  private final int mostNumbers;
  private final Map<String, DepartedInitiator> settled = new LinkedHashMap<>();
  private final Map<String, DepartedInitiator> asking = new LinkedHashMap<>();
  private int numbers;

  /**
   * Keeps nothing yet.
   *
   * @param most names, of each of the two sorts
   * @param mostNumbers transfers that may be asked about, of all names together
   */
  DepartedInitiators(int most, int mostNumbers) {
    this.most = most;
    this.mostNumbers = mostNumbers;
  }

  /** Keeps one; the oldest go when there is no room. */
  synchronized void put(String name, DepartedInitiator departed) {
    take(name);
    if (departed.epoch() == 0) {
      return; // it never got as far as a session
    }
    if (departed.delivered().isEmpty()) {
      settled.put(name, departed);
      if (settled.size() > most) {
        removeOldest(settled);
      }
      return;
    }
    asking.put(name, departed);
    numbers += departed.delivered().size();
    while (asking.size() > most || (numbers > mostNumbers && asking.size() > 1)) {
      numbers -= removeOldest(asking).delivered().size();
    }
  }

  private static DepartedInitiator removeOldest(Map<String, DepartedInitiator> departed) {
    Iterator<DepartedInitiator> oldest = departed.values().iterator();
    DepartedInitiator removed = oldest.next();
    oldest.remove();
    return removed;
  }

  /** What is kept of a name, which is not kept any more then. */
  synchronized DepartedInitiator take(String name) {
    DepartedInitiator found = settled.remove(name);
    if (found == null) {
      found = asking.remove(name);
      numbers -= found == null ? 0 : found.delivered().size();
    }
    return found == null ? DepartedInitiator.NEVER_SEEN : found;
  }

  synchronized int size() {
    return settled.size() + asking.size();
  }
}
