/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** The types that {@link DeviceOps} computes on. */
public enum ElementType {
  /** IEEE 754 binary32. */
  F32(4),
  /** IEEE 754 binary64. */
  F64(8),
  /** bfloat16: the upper half of a binary32. */
  BF16(2),
  /** IEEE 754 binary16. */
  F16(2),
  /** Two's complement, 32 bits. */
  I32(4),
  /** Two's complement, 64 bits. */
  I64(8);

  private final int bytes;

  ElementType(int bytes) {
    this.bytes = bytes;
  }

  /** The size of one element in bytes. */
  public int bytes() {
    return bytes;
  }
}
