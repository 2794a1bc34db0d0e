/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Locale;

/** The kinds of memory that a region can be in. */
public enum DeviceKind {
  /** Memory of the host, pinned or not. */
  HOST,
  /** Memory of an NVIDIA GPU. */
  CUDA,
  /** Memory of an AMD GPU. */
  HIP;

  /** The word by which it is written, for example {@code cuda}. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
