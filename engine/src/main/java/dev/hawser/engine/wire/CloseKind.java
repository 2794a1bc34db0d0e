/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

/** What ends with a CLOSE. */
public enum CloseKind {
  /** The agent itself: it will not be back under this epoch. */
  AGENT(0),
  /** This session only, because a grant was revoked or its link was closed: another may begin. */
  SESSION(1);

  private final int number;

  CloseKind(int number) {
    this.number = number;
  }

  /** The number on the wire. */
  public int number() {
    return number;
  }

  static CloseKind of(int number) {
    return switch (number) {
      case 0 -> AGENT;
      case 1 -> SESSION;
      default -> throw new WireException("unknown kind of CLOSE " + number);
    };
  }
}
