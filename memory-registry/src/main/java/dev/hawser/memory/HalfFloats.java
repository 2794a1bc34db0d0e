/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** The 16-bit floating-point formats. Binary16 is in the JDK; this is bfloat16. */
final class HalfFloats {
  private static final int QUIET = 0x40;

  private HalfFloats() {}

  static float fromBfloat16(short bits) {
    return Float.intBitsToFloat(bits << 16);
  }

  /** Rounds to nearest, ties to even. A NaN stays one, and becomes quiet, with the upper bits of its payload. */
  static short toBfloat16(float value) {
    int bits = Float.floatToRawIntBits(value);
    int rounded = (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
    int quiet = (bits >>> 16) | QUIET;
    return (short) (Float.isNaN(value) ? quiet : rounded);
  }
}
