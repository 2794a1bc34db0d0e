/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.Random;

/** Elements of every type, one at a time and without haste: what the fast loops are compared with. */
final class Numbers {
  private Numbers() {}

  static void set(MemorySegment memory, ElementType type, int index, Random random) {
    switch (type) {
      case F32 -> memory.setAtIndex(ValueLayout.JAVA_FLOAT, index, random.nextInt(2000) / 8f - 100);
      case F64 -> memory.setAtIndex(ValueLayout.JAVA_DOUBLE, index, random.nextInt(2000) / 8.0 - 100);
      case BF16 -> memory.setAtIndex(
          ValueLayout.JAVA_SHORT, index, HalfFloats.toBfloat16(random.nextInt(2000) / 8f - 100));
      case F16 -> memory.setAtIndex(
          ValueLayout.JAVA_SHORT, index, Float.floatToFloat16(random.nextInt(2000) / 8f - 100));
      case I32 -> memory.setAtIndex(ValueLayout.JAVA_INT, index, random.nextInt());
      case I64 -> memory.setAtIndex(ValueLayout.JAVA_LONG, index, random.nextInt(1 << 30) - (1L << 29));
    }
  }

  static double get(MemorySegment memory, ElementType type, int index) {
    return switch (type) {
      case F32 -> memory.getAtIndex(ValueLayout.JAVA_FLOAT, index);
      case F64 -> memory.getAtIndex(ValueLayout.JAVA_DOUBLE, index);
      case BF16 -> HalfFloats.fromBfloat16(memory.getAtIndex(ValueLayout.JAVA_SHORT, index));
      case F16 -> Float.float16ToFloat(memory.getAtIndex(ValueLayout.JAVA_SHORT, index));
      case I32 -> memory.getAtIndex(ValueLayout.JAVA_INT, index);
      case I64 -> memory.getAtIndex(ValueLayout.JAVA_LONG, index);
    };
  }

  static double reduce(ReduceOp op, ElementType type, MemorySegment[] sources, int index) {
    return switch (type) {
      case I32, I64 -> integers(op, type, sources, index);
      default -> rounded(type, reals(op, sources, type, index));
    };
  }

  private static double integers(ReduceOp op, ElementType type, MemorySegment[] sources, int index) {
    BigInteger result = BigInteger.valueOf((long) get(sources[0], type, index));
    for (int i = 1; i < sources.length; i++) {
      BigInteger next = BigInteger.valueOf((long) get(sources[i], type, index));
      result = switch (op) {
        case SUM, AVG -> result.add(next);
        case MIN -> result.min(next);
        case MAX -> result.max(next);
      };
    }
    if (op == ReduceOp.AVG) {
      result = result.divide(BigInteger.valueOf(sources.length));
    }
    return type == ElementType.I32 ? result.intValue() : result.longValue();
  }

  // The values are multiples of 1/8 below 1024: their sums are exact in binary32, so doubles give the same.
  private static double reals(ReduceOp op, MemorySegment[] sources, ElementType type, int index) {
    double result = get(sources[0], type, index);
    for (int i = 1; i < sources.length; i++) {
      double next = get(sources[i], type, index);
      result = switch (op) {
        case SUM, AVG -> result + next;
        case MIN -> Math.min(result, next);
        case MAX -> Math.max(result, next);
      };
    }
    return op != ReduceOp.AVG
        ? result
        : type == ElementType.F64 ? result / sources.length : (float) result / sources.length;
  }

  private static double rounded(ElementType type, double value) {
    return switch (type) {
      case BF16 -> HalfFloats.fromBfloat16(HalfFloats.toBfloat16((float) value));
      case F16 -> Float.float16ToFloat(Float.floatToFloat16((float) value));
      case F32 -> (float) value;
      default -> value;
    };
  }
}
