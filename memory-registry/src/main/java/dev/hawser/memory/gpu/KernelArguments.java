/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ElementType;
import dev.hawser.memory.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The one argument of each kernel, laid out as the structs of {@code kernels.cu} are. The driver copies it during the
 * launch, so it is used again for the next. For one thread.
 */
final class KernelArguments {
  /** Axes that the kernel permute takes. */
  static final int MAX_AXES = 8;

  private static final long STRUCT = 16; // behind the array with its address
  private static final long BYTES = STRUCT + 256;

  private final MemorySegment block = Arena.ofAuto().allocate(BYTES, 16);

  KernelArguments() {
    block.set(JAVA_LONG, 0, block.address() + STRUCT);
  }

  /** What a launch wants: the address of an array of addresses of arguments. */
  long address() {
    return block.address();
  }

  void copyIndexed(CopyLaunch launch, long table, long localShift, long remoteShift, boolean toRemote) {
    putLong(0, table);
    putLong(8, launch.localBase + localShift);
    putLong(16, launch.remoteBase + remoteShift);
    putLong(24, launch.items);
    putInt(32, Math.toIntExact(launch.pieceBytes));
    putInt(36, launch.itemBytes);
    putInt(40, launch.itemsPerPiece);
    putInt(44, launch.unitBits);
    putInt(48, launch.laneBits);
    putInt(52, toRemote ? 1 : 0);
  }

  void copyRuns(CopyLaunch launch, long table, long localShift, long remoteShift, boolean toRemote) {
    putLong(0, table);
    putLong(8, localShift);
    putLong(16, remoteShift);
    putLong(24, launch.items);
    putInt(32, launch.runs);
    putInt(36, launch.itemBytes);
    putInt(40, launch.laneBits);
    putInt(44, toRemote ? 1 : 0);
  }

  void permute(long from, long to, long units, int unitBytes, int axes, long[] shape, long[] stride) {
    putLong(0, from);
    putLong(8, to);
    putLong(16, units);
    putInt(24, unitBytes);
    putInt(28, axes);
    for (int axis = 0; axis < axes; axis++) {
      putLong(32 + 8L * axis, shape[axis]);
      putLong(96 + 8L * axis, stride[axis]);
    }
  }

  void cast(long from, long to, long count, ElementType fromType, ElementType toType) {
    putLong(0, from);
    putLong(8, to);
    putLong(16, count);
    putInt(24, number(fromType));
    putInt(28, number(toType));
  }

  void reduce(long table, long to, long count, int arrays, ReduceOp op, ElementType type) {
    putLong(0, table);
    putLong(8, to);
    putLong(16, count);
    putInt(24, arrays);
    putInt(28, number(op));
    putInt(32, number(type));
  }

  /** As {@code enum ElementType} of the source numbers them. */
  private static int number(ElementType type) {
    return switch (type) {
      case F32 -> 0;
      case F64 -> 1;
      case BF16 -> 2;
      case F16 -> 3;
      case I32 -> 4;
      case I64 -> 5;
    };
  }

  /** As {@code enum ReduceOp} of the source numbers them. */
  private static int number(ReduceOp op) {
    return switch (op) {
      case SUM -> 0;
      case MIN -> 1;
      case MAX -> 2;
      case AVG -> 3;
    };
  }

  private void putLong(long offset, long value) {
    block.set(JAVA_LONG, STRUCT + offset, value);
  }

  private void putInt(long offset, int value) {
    block.set(JAVA_INT, STRUCT + offset, value);
  }
}
