/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A few elements of F32, BF16 or F16, brought from memory into a {@code float[]} and back. Not thread-safe. */
final class FloatPiece {
  /** Elements in one piece. */
  static final int ELEMENTS = 2048;

  private final float[] floats;
  private final short[] halves;

  /** A piece for arrays of {@code count} elements. */
  FloatPiece(long count) {
    int size = (int) Math.min(ELEMENTS, count);
    this.floats = new float[size];
    this.halves = new short[size];
  }

  /** Reads {@code count} elements; the array is used again by the next call. */
  float[] load(long address, ElementType type, int count) {
    if (type == ElementType.F32) {
      MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_FLOAT_UNALIGNED, address, floats, 0, count);
    } else {
      MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_SHORT_UNALIGNED, address, halves, 0, count);
      if (type == ElementType.BF16) {
        widenBfloat16(count);
      } else {
        widenBinary16(count);
      }
    }
    return floats;
  }

  /** Writes {@code count} elements. */
  void store(float[] values, long address, ElementType type, int count) {
    if (type == ElementType.F32) {
      MemorySegment.copy(values, 0, HostMemory.ALL, ValueLayout.JAVA_FLOAT_UNALIGNED, address, count);
      return;
    }
    if (type == ElementType.BF16) {
      narrowBfloat16(values, count);
    } else {
      narrowBinary16(values, count);
    }
    MemorySegment.copy(halves, 0, HostMemory.ALL, ValueLayout.JAVA_SHORT_UNALIGNED, address, count);
  }

  private void widenBfloat16(int count) {
    for (int i = 0; i < count; i++) {
      floats[i] = HalfFloats.fromBfloat16(halves[i]);
    }
  }

  private void widenBinary16(int count) {
    for (int i = 0; i < count; i++) {
      floats[i] = Float.float16ToFloat(halves[i]);
    }
  }

  private void narrowBfloat16(float[] values, int count) {
    for (int i = 0; i < count; i++) {
      halves[i] = HalfFloats.toBfloat16(values[i]);
    }
  }

  private void narrowBinary16(float[] values, int count) {
    for (int i = 0; i < count; i++) {
      halves[i] = Float.floatToFloat16(values[i]);
    }
  }
}
