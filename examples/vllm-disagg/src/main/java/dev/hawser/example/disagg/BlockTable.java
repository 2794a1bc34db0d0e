/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

/** The blocks of one request, in the order of its tokens; their ids are in no order at all. Immutable. */
final class BlockTable {
  private final String request;
  private final int[] ids;

  BlockTable(String request, int[] ids) {
    this.request = request;
    this.ids = ids.clone();
  }

  /** Whose they are. */
  String request() {
    return request;
  }

  /** The ids in the pool, a copy. */
  int[] ids() {
    return ids.clone();
  }

  /** The id of the block at a position in the request. */
  int id(int position) {
    return ids[position];
  }

  /** How many. */
  int size() {
    return ids.length;
  }
}
