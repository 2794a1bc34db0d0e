/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * Conversion between floating-point types, piece by piece through arrays that fit the first-level cache: the compiler
 * turns loops over arrays into vector instructions, and loops over raw memory it does not.
 */
final class HostCast {
  private HostCast() {}

  static void cast(long from, ElementType fromType, long to, ElementType toType, long count) {
    checkType("fromType", fromType);
    checkType("toType", toType);
    if (count < 0) {
      throw new InvalidMemoryException("count", count + " elements is negative");
    }
    if (fromType == toType) {
      HostMemory.copy(from, to, Math.multiplyExact(count, (long) fromType.bytes()));
      return;
    }
    FloatPiece piece = new FloatPiece(count);
    for (long done = 0; done < count; done += FloatPiece.ELEMENTS) {
      int part = (int) Math.min(FloatPiece.ELEMENTS, count - done);
      float[] values = piece.load(from + done * fromType.bytes(), fromType, part);
      piece.store(values, to + done * toType.bytes(), toType, part);
    }
  }

  private static void checkType(String argument, ElementType type) {
    if (type != ElementType.F32 && type != ElementType.BF16 && type != ElementType.F16) {
      throw new InvalidMemoryException(argument, "cast is between F32, BF16 and F16, not " + type);
    }
  }
}
