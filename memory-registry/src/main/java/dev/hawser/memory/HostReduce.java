/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Reduction, piece by piece through arrays, for the reason that {@link HostCast} gives. */
final class HostReduce {
  private static final int ELEMENTS = FloatPiece.ELEMENTS;

  private HostReduce() {}

  static void reduce(ReduceOp op, ElementType type, long[] from, long to, long count) {
    switch (type) {
      case F32, BF16, F16 -> floats(op, type, from, to, count);
      case F64 -> doubles(op, from, to, count);
      case I32 -> ints(op, from, to, count);
      case I64 -> longs(op, from, to, count);
    }
  }

  private static void floats(ReduceOp op, ElementType type, long[] from, long to, long count) {
    FloatPiece piece = new FloatPiece(count);
    float[] sum = new float[(int) Math.min(ELEMENTS, count)];
    for (long done = 0; done < count; done += ELEMENTS) {
      int part = (int) Math.min(ELEMENTS, count - done);
      long offset = done * type.bytes();
      System.arraycopy(piece.load(from[0] + offset, type, part), 0, sum, 0, part);
      for (int i = 1; i < from.length; i++) {
        join(op, sum, piece.load(from[i] + offset, type, part), part);
      }
      if (op == ReduceOp.AVG) {
        for (int i = 0; i < part; i++) {
          sum[i] /= from.length;
        }
      }
      piece.store(sum, to + offset, type, part);
    }
  }

  private static void join(ReduceOp op, float[] into, float[] other, int count) {
    switch (op) {
      case SUM, AVG -> {
        for (int i = 0; i < count; i++) {
          into[i] += other[i];
        }
      }
      case MIN -> {
        for (int i = 0; i < count; i++) {
          into[i] = Math.min(into[i], other[i]);
        }
      }
      case MAX -> {
        for (int i = 0; i < count; i++) {
          into[i] = Math.max(into[i], other[i]);
        }
      }
    }
  }

  private static void doubles(ReduceOp op, long[] from, long to, long count) {
    double[] into = new double[(int) Math.min(ELEMENTS, count)];
    double[] other = new double[into.length];
    for (long done = 0; done < count; done += ELEMENTS) {
      int part = (int) Math.min(ELEMENTS, count - done);
      long offset = done * Double.BYTES;
      MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_DOUBLE_UNALIGNED, from[0] + offset, into, 0, part);
      for (int i = 1; i < from.length; i++) {
        MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_DOUBLE_UNALIGNED, from[i] + offset, other, 0, part);
        join(op, into, other, part);
      }
      if (op == ReduceOp.AVG) {
        for (int i = 0; i < part; i++) {
          into[i] /= from.length;
        }
      }
      MemorySegment.copy(into, 0, HostMemory.ALL, ValueLayout.JAVA_DOUBLE_UNALIGNED, to + offset, part);
    }
  }

  private static void join(ReduceOp op, double[] into, double[] other, int count) {
    switch (op) {
      case SUM, AVG -> {
        for (int i = 0; i < count; i++) {
          into[i] += other[i];
        }
      }
      case MIN -> {
        for (int i = 0; i < count; i++) {
          into[i] = Math.min(into[i], other[i]);
        }
      }
      case MAX -> {
        for (int i = 0; i < count; i++) {
          into[i] = Math.max(into[i], other[i]);
        }
      }
    }
  }

  /** In 64 bits, so that an average does not wrap; a sum is cut to 32 bits at the end, which is the same as wrapping. */
  private static void ints(ReduceOp op, long[] from, long to, long count) {
    int[] piece = new int[(int) Math.min(ELEMENTS, count)];
    long[] into = new long[piece.length];
    long[] other = new long[piece.length];
    for (long done = 0; done < count; done += ELEMENTS) {
      int part = (int) Math.min(ELEMENTS, count - done);
      long offset = done * Integer.BYTES;
      widen(from[0] + offset, piece, into, part);
      for (int i = 1; i < from.length; i++) {
        widen(from[i] + offset, piece, other, part);
        join(op, into, other, part);
      }
      if (op == ReduceOp.AVG) {
        divide(into, from.length, part);
      }
      for (int i = 0; i < part; i++) {
        piece[i] = (int) into[i];
      }
      MemorySegment.copy(piece, 0, HostMemory.ALL, ValueLayout.JAVA_INT_UNALIGNED, to + offset, part);
    }
  }

  private static void widen(long address, int[] piece, long[] into, int count) {
    MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_INT_UNALIGNED, address, piece, 0, count);
    for (int i = 0; i < count; i++) {
      into[i] = piece[i];
    }
  }

  private static void longs(ReduceOp op, long[] from, long to, long count) {
    long[] into = new long[(int) Math.min(ELEMENTS, count)];
    long[] other = new long[into.length];
    for (long done = 0; done < count; done += ELEMENTS) {
      int part = (int) Math.min(ELEMENTS, count - done);
      long offset = done * Long.BYTES;
      MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_LONG_UNALIGNED, from[0] + offset, into, 0, part);
      for (int i = 1; i < from.length; i++) {
        MemorySegment.copy(HostMemory.ALL, ValueLayout.JAVA_LONG_UNALIGNED, from[i] + offset, other, 0, part);
        join(op, into, other, part);
      }
      if (op == ReduceOp.AVG) {
        divide(into, from.length, part);
      }
      MemorySegment.copy(into, 0, HostMemory.ALL, ValueLayout.JAVA_LONG_UNALIGNED, to + offset, part);
    }
  }

  private static void join(ReduceOp op, long[] into, long[] other, int count) {
    switch (op) {
      case SUM, AVG -> {
        for (int i = 0; i < count; i++) {
          into[i] += other[i];
        }
      }
      case MIN -> {
        for (int i = 0; i < count; i++) {
          into[i] = Math.min(into[i], other[i]);
        }
      }
      case MAX -> {
        for (int i = 0; i < count; i++) {
          into[i] = Math.max(into[i], other[i]);
        }
      }
    }
  }

  private static void divide(long[] values, int divisor, int count) {
    for (int i = 0; i < count; i++) {
      values[i] /= divisor;
    }
  }
}
