/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

/** What a block of a layer holds. */
enum Part {
  /** Keys. */
  K(0),
  /** Values. */
  V(1);

  private final int plane;

  Part(int plane) {
    this.plane = plane;
  }

  /** Which of its layer's planes. */
  int plane() {
    return plane;
  }
}
