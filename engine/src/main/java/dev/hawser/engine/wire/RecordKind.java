/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

/** What the target does when a transfer is complete. */
public enum RecordKind {
  /** Nothing to tell: the initiator wants to know that its bytes are visible. */
  FLUSH(0),
  /** Deliver the payload. */
  NOTIFICATION(1),
  /** Count one arrival. */
  COUNT(2);

  private final int number;

  RecordKind(int number) {
    this.number = number;
  }

  /** The number on the wire. */
  public int number() {
    return number;
  }

  static RecordKind of(int number) {
    return switch (number) {
      case 0 -> FLUSH;
      case 1 -> NOTIFICATION;
      case 2 -> COUNT;
      default -> throw new WireException("unknown record kind " + number);
    };
  }
}
