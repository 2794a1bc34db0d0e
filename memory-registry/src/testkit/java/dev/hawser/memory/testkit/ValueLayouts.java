/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.testkit;

import java.lang.foreign.ValueLayout;

/** Layouts for what may lie anywhere. */
final class ValueLayouts {
  static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

  private ValueLayouts() {}
}
