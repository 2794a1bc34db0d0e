/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

/** The target's view of a transfer, as STATE carries it. */
public enum TargetState {
  /** Neither delivered nor aborted. */
  OPEN(0),
  /** Delivered, once. */
  DELIVERED(1),
  /** Never delivered; no byte of it will land any more. */
  ABORTED(2);

  private final int number;

  TargetState(int number) {
    this.number = number;
  }

  /** The number on the wire. */
  public int number() {
    return number;
  }

  static TargetState of(int number) {
    return switch (number) {
      case 0 -> OPEN;
      case 1 -> DELIVERED;
      case 2 -> ABORTED;
      default -> throw new WireException("unknown transfer state " + number);
    };
  }
}
