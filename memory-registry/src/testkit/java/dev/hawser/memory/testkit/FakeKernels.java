/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.testkit;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ElementType;
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The kernels of {@code kernels.cu}, read from their arguments, by a plain loop. */
final class FakeKernels {
  static final List<String> NAMES =
      List.of("hawser_copy_indexed", "hawser_copy_runs", "hawser_permute", "hawser_cast", "hawser_reduce");

  // in the order of the enums of the source
  private static final List<ElementType> TYPES =
      List.of(
          ElementType.F32, ElementType.F64, ElementType.BF16, ElementType.F16, ElementType.I32, ElementType.I64);
  private static final List<ReduceOp> OPS = List.of(ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.AVG);

  private static final MemorySegment ALL = FakeGpu.ALL;

  private final FakeGpu gpu;

  FakeKernels(FakeGpu gpu) {
    this.gpu = gpu;
  }

  /** The work of one launch, which has taken its argument with it; null if there is no such kernel. */
  @Nullable
  BooleanSupplier launch(int kernel, long parameters) {
    long argument = ALL.get(JAVA_LONG, parameters);
    long[] taken = new long[32];
    MemorySegment.copy(ALL, ValueLayouts.LONG, argument, taken, 0, taken.length);
    MemorySegment a = MemorySegment.ofArray(taken);
    return switch (kernel) {
      case 0 -> () -> copyIndexed(a);
      case 1 -> () -> copyRuns(a);
      case 2 -> () -> permute(a);
      case 3 -> () -> cast(a);
      case 4 -> () -> reduce(a);
      default -> null;
    };
  }

  private boolean copyIndexed(MemorySegment a) {
    long table = a.get(ValueLayouts.LONG, 0);
    int pieceBytes = a.get(JAVA_INT, 32);
    int itemBytes = a.get(JAVA_INT, 36);
    int itemsPerPiece = a.get(JAVA_INT, 40);
    int unitBits = a.get(JAVA_INT, 44);
    boolean toRemote = a.get(JAVA_INT, 52) != 0;
    for (long item = 0; item < a.get(ValueLayouts.LONG, 24); item++) {
      long piece = item / itemsPerPiece;
      int offset = (int) (item - piece * itemsPerPiece) * itemBytes;
      if (!gpu.touch(table + 8 * piece, 8)) {
        return true;
      }
      long local = a.get(ValueLayouts.LONG, 8) + ((long) ALL.get(JAVA_INT, table + 8 * piece) << unitBits);
      long remote = a.get(ValueLayouts.LONG, 16) + ((long) ALL.get(JAVA_INT, table + 8 * piece + 4) << unitBits);
      move(local + offset, remote + offset, Math.min(itemBytes, pieceBytes - offset), toRemote);
    }
    return true;
  }

  private boolean copyRuns(MemorySegment a) {
    long table = a.get(ValueLayouts.LONG, 0);
    int itemBytes = a.get(JAVA_INT, 36);
    boolean toRemote = a.get(JAVA_INT, 44) != 0;
    int runs = a.get(JAVA_INT, 32);
    int run = 0;
    for (long item = 0; item < a.get(ValueLayouts.LONG, 24); item++) {
      while (run + 1 < runs && ALL.get(JAVA_LONG, table + 48L * (run + 1) + 40) <= item) {
        run++;
      }
      long at = table + 48L * run;
      if (!gpu.touch(at, 48)) {
        return true;
      }
      long pieceBytes = ALL.get(JAVA_LONG, at + 32);
      long rest = item - ALL.get(JAVA_LONG, at + 40);
      long itemsPerPiece = (pieceBytes + itemBytes - 1) / itemBytes;
      long piece = rest / itemsPerPiece;
      long offset = (rest - piece * itemsPerPiece) * itemBytes;
      long local =
          ALL.get(JAVA_LONG, at) + a.get(ValueLayouts.LONG, 8) + piece * ALL.get(JAVA_LONG, at + 16) + offset;
      long remote =
          ALL.get(JAVA_LONG, at + 8) + a.get(ValueLayouts.LONG, 16) + piece * ALL.get(JAVA_LONG, at + 24) + offset;
      move(local, remote, Math.min(itemBytes, pieceBytes - offset), toRemote);
    }
    return true;
  }

  private void move(long local, long remote, long bytes, boolean toRemote) {
    if (gpu.touch(local, bytes) && gpu.touch(remote, bytes)) {
      MemorySegment.copy(ALL, toRemote ? local : remote, ALL, toRemote ? remote : local, bytes);
    }
  }

  private boolean permute(MemorySegment a) {
    int unitBytes = a.get(JAVA_INT, 24);
    int axes = a.get(JAVA_INT, 28);
    for (long unit = 0; unit < a.get(ValueLayouts.LONG, 16); unit++) {
      long from = a.get(ValueLayouts.LONG, 0);
      long rest = unit;
      for (int axis = axes - 1; axis >= 0; axis--) {
        long extent = a.get(ValueLayouts.LONG, 32 + 8L * axis);
        from += rest % extent * a.get(ValueLayouts.LONG, 96 + 8L * axis);
        rest /= extent;
      }
      move(from, a.get(ValueLayouts.LONG, 8) + unit * unitBytes, unitBytes, true);
    }
    return true;
  }

  private boolean cast(MemorySegment a) {
    ElementType fromType = TYPES.get(a.get(JAVA_INT, 24));
    ElementType toType = TYPES.get(a.get(JAVA_INT, 28));
    long count = a.get(ValueLayouts.LONG, 16);
    long from = a.get(ValueLayouts.LONG, 0);
    long to = a.get(ValueLayouts.LONG, 8);
    if (gpu.touch(from, count * fromType.bytes()) && gpu.touch(to, count * toType.bytes())) {
      HostDeviceOps.INSTANCE.cast(from, fromType, to, toType, count);
    }
    return true;
  }

  private boolean reduce(MemorySegment a) {
    long[] from = new long[a.get(JAVA_INT, 24)];
    long table = a.get(ValueLayouts.LONG, 0);
    long to = a.get(ValueLayouts.LONG, 8);
    long count = a.get(ValueLayouts.LONG, 16);
    ElementType type = TYPES.get(a.get(JAVA_INT, 32));
    boolean fine = gpu.touch(table, 8L * from.length) && gpu.touch(to, count * type.bytes());
    for (int i = 0; fine && i < from.length; i++) {
      from[i] = ALL.get(JAVA_LONG, table + 8L * i);
      fine = gpu.touch(from[i], count * type.bytes());
    }
    if (fine) {
      HostDeviceOps.INSTANCE.reduce(OPS.get(a.get(JAVA_INT, 28)), type, from, to, count);
    }
    return true;
  }
}
