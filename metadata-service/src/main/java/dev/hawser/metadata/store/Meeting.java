/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Who has come.
 *
 * @param size that it waits for
 * @param members by rank
 */
public record Meeting(int size, SortedMap<Integer, Member> members) {
  /**
   * One who has come.
   *
   * @param name who it is
   * @param data for the others
   */
  public record Member(String name, Buffer data) {}

  public Meeting {
    members = Collections.unmodifiableSortedMap(new TreeMap<>(members));
  }

  /** Whether all are there. */
  public boolean isComplete() {
    return members.size() == size;
  }

  /** Ranks that are not there, at most so many. */
  public List<Integer> missing(int max) {
    List<Integer> missing = new ArrayList<>();
    for (int rank = 0; rank < size && missing.size() < max; rank++) {
      if (!members.containsKey(rank)) {
        missing.add(rank);
      }
    }
    return missing;
  }
}
