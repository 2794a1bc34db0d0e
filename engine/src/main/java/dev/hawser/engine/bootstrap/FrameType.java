/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import org.jspecify.annotations.Nullable;

/** The frames of the bootstrap, by their number on the wire. */
enum FrameType {
  HELLO(1), PROBE(2), CHALLENGE(3), AUTH(4), WELCOME(5), REFUSE(6), IDENTITY(7);

  private static final FrameType[] BY_NUMBER = values();

  private final int number;

  FrameType(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }

  static @Nullable FrameType of(int number) {
    return number >= 1 && number <= BY_NUMBER.length ? BY_NUMBER[number - 1] : null;
  }
}
