/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Random;

/**
 * Times what transfers do most, by hand: {@code java -cp target/classes:target/test-classes
 * --enable-native-access=ALL-UNNAMED dev.hawser.memory.MemoryTimings}. Each figure is the median of 21 runs after as many
 * to warm up; where two are compared, their runs alternate. The time is the thread's own on the processor, so that what
 * else the machine does is counted only as far as it takes caches and memory away.
 */
public final class MemoryTimings {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int RUNS = 21;
  private static final int DESCRIPTORS = 24 * 64 * 1024;

  private final PrintStream out;

  private MemoryTimings(PrintStream out) {
    this.out = out;
  }

  /** Runs everything; no arguments. */
  public static void main(String[] arguments) {
    MemoryTimings timings = new MemoryTimings(System.out);
    timings.triples();
    timings.pairs();
    timings.shuffledCopy();
    timings.largeCopy();
    timings.registry();
    timings.arithmetic();
  }

  private void triples() {
    long[] grid = BlockListTest.grid(24, 64, 1024, 16 << 10);
    long[] shuffled = grid.clone();
    Random random = new Random(1);
    for (int i = DESCRIPTORS - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      long swap = shuffled[3 * i];
      shuffled[3 * i] = shuffled[3 * j];
      shuffled[3 * j] = swap;
    }
    MemorySegment packed = MemorySegment.ofArray(grid);
    report("1,572,864 triples, regular", DESCRIPTORS, () -> BlockList.fromTriples(grid, DeviceKind.CUDA).runCount());
    report("the same, in a segment", DESCRIPTORS, () -> BlockList.fromTriples(packed, DeviceKind.CUDA).runCount());
    report("1,572,864 triples, shuffled", DESCRIPTORS,
        () -> BlockList.fromTriples(shuffled, DeviceKind.CUDA).runCount());
    out.println("  runs: " + BlockList.fromTriples(grid, DeviceKind.CUDA).runCount() + " regular, "
        + BlockList.fromTriples(shuffled, DeviceKind.CUDA).runCount() + " shuffled");
    report("1,572,864 blocks as strides", 1, () -> BlockList
        .strided(1L << 40, new long[] {24, 64, 1024}, new long[] {1L << 32, 64 << 14, 1 << 14}, 1 << 14).runCount());
  }

  private void pairs() {
    int blocks = 65_536;
    BlockList list = BlockList.strided(1L << 40, 8192, 4096, blocks);
    int[] one = shuffled(blocks, 1);
    int[] other = shuffled(blocks, 2);
    report("pairing 65,536 shuffled blocks", blocks, () -> BlockPairs.of(list, one, list, other).size());
    BlockPairs pairs = BlockPairs.of(list, one, list, other);
    BlockPairs.Cursor cursor = pairs.cursor();
    report("walking over them", blocks, () -> walk(cursor));
    BlockPairs grid = BlockPairs.of(list, BlockList.strided(1L << 41, 8192, 4096, blocks));
    BlockPairs.Cursor gridCursor = grid.cursor();
    report("walking over a grid", blocks, () -> walk(gridCursor));
  }

  private static long walk(BlockPairs.Cursor cursor) {
    cursor.seek(0);
    long sum = 0;
    while (cursor.next(Long.MAX_VALUE)) {
      sum += cursor.localAddress() ^ cursor.remoteAddress();
    }
    return sum;
  }

  private void shuffledCopy() {
    int blocks = 4096;
    int bytes = 4096;
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      Region from = registry.allocate((long) blocks * bytes, Access.LOCAL);
      Region to = registry.allocate((long) blocks * bytes, Access.LOCAL);
      int[] fromIndices = shuffled(blocks, 1);
      int[] toIndices = shuffled(blocks, 2);
      BlockPairs.Cursor cursor = BlockPairs.of(
          BlockList.strided(from.address(), bytes, bytes, blocks), fromIndices,
          BlockList.strided(to.address(), bytes, bytes, blocks), toIndices).cursor();
      compare("4096 shuffled blocks of 4 KiB", (long) blocks * bytes, "plain loop", () -> {
        for (int i = 0; i < blocks; i++) {
          MemorySegment.copy(HostMemory.ALL, from.address() + (long) fromIndices[i] * bytes, HostMemory.ALL,
              to.address() + (long) toIndices[i] * bytes, bytes);
        }
        return 0;
      }, "DeviceOps", () -> {
        cursor.seek(0);
        return HostDeviceOps.INSTANCE.copy(cursor, Long.MAX_VALUE, CopyDirection.LOCAL_TO_REMOTE);
      });
    }
  }

  private void largeCopy() {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      long total = 256 << 20;
      Region from = registry.allocate(total, Access.LOCAL);
      Region to = registry.allocate(total, Access.LOCAL);
      for (long bytes : new long[] {1 << 20, 64 << 20}) {
        long[] at = {0, 0};
        compare((bytes >> 20) + " MiB", bytes, "one MemorySegment.copy", () -> {
          at[0] = (at[0] + bytes) % total;
          MemorySegment.copy(HostMemory.ALL, from.address() + at[0], HostMemory.ALL, to.address() + at[0], bytes);
          return 0;
        }, "DeviceOps", () -> {
          at[1] = (at[1] + bytes) % total;
          HostDeviceOps.INSTANCE.copy(from.address() + at[1], to.address() + at[1], bytes);
          return 0;
        });
      }
    }
  }

  private void registry() {
    int regions = 10_000;
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      Region whole = registry.allocate(regions * 64L, Access.REMOTE_READ_WRITE);
      long start = THREADS.getCurrentThreadCpuTime();
      for (int i = 0; i < regions; i++) {
        registry.register(whole.address() + i * 64L, 64, Device.HOST, Access.REMOTE_READ);
      }
      out.printf("%-42s %10.1f ns each%n", "registering 10,000 ranges of an allocation",
          (THREADS.getCurrentThreadCpuTime() - start) / (double) regions);
      report("find among 10,001", regions, () -> {
        long sum = 0;
        for (int i = 0; i < regions; i++) {
          sum += registry.find(whole.address() + i * 64L + 8, 8).orElseThrow().id();
        }
        return sum;
      });
      report("byId", regions, () -> {
        long sum = 0;
        for (int i = 1; i <= regions; i++) {
          Region region = registry.byId(i);
          sum += region == null ? 0 : region.length();
        }
        return sum;
      });
      report("retain and release", regions, () -> {
        long sum = 0;
        for (int i = 0; i < regions; i++) {
          sum += whole.tryRetain() ? 1 : 0;
          whole.release();
        }
        return sum;
      });
    }
  }

  private void arithmetic() {
    int count = 1 << 20;
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      Region a = registry.allocate(count * 4L, Access.LOCAL);
      Region b = registry.allocate(count * 4L, Access.LOCAL);
      long[] both = {a.address(), b.address()};
      for (ElementType type : new ElementType[] {ElementType.F32, ElementType.BF16, ElementType.F16}) {
        report("sum of two " + type, count, () -> {
          HostDeviceOps.INSTANCE.reduce(ReduceOp.SUM, type, both, a.address(), count);
          return 0;
        });
      }
      report("cast F32 to BF16", count, () -> {
        HostDeviceOps.INSTANCE.cast(a.address(), ElementType.F32, b.address(), ElementType.BF16, count);
        return 0;
      });
      report("cast BF16 to F32", count, () -> {
        HostDeviceOps.INSTANCE.cast(b.address(), ElementType.BF16, a.address(), ElementType.F32, count);
        return 0;
      });
    }
  }

  private void report(String what, long elements, Work work) {
    double[] times = new double[RUNS];
    for (int run = 0; run < 2 * RUNS; run++) {
      times[run % RUNS] = time(work);
    }
    Arrays.sort(times);
    out.printf("%-42s %10.2f ns each (%.2f to %.2f)%n", what, times[RUNS / 2] / elements, times[0] / elements,
        times[RUNS - 1] / elements);
  }

  private void compare(String what, long bytes, String nameA, Work a, String nameB, Work b) {
    double[] ratios = new double[RUNS];
    double[] timesA = new double[RUNS];
    double[] timesB = new double[RUNS];
    for (int run = 0; run < 2 * RUNS; run++) {
      int slot = run % RUNS;
      double first = time(a);
      double second = time(b);
      double third = time(b);
      double fourth = time(a);
      timesA[slot] = first + fourth;
      timesB[slot] = second + third;
      ratios[slot] = timesA[slot] / timesB[slot];
    }
    Arrays.sort(ratios);
    Arrays.sort(timesA);
    Arrays.sort(timesB);
    out.printf("%s: %s %.2f GB/s, %s %.2f GB/s, ratio %.3f (%.3f to %.3f)%n", what, nameA,
        2 * bytes / timesA[RUNS / 2], nameB, 2 * bytes / timesB[RUNS / 2], ratios[RUNS / 2], ratios[0],
        ratios[RUNS - 1]);
  }

  private static double time(Work work) {
    long start = THREADS.getCurrentThreadCpuTime();
    long result = work.run();
    long end = THREADS.getCurrentThreadCpuTime();
    if (result == Long.MIN_VALUE) {
      throw new AssertionError("kept alive");
    }
    return end - start;
  }

  private static int[] shuffled(int count, long seed) {
    Random random = new Random(seed);
    int[] indices = new int[count];
    for (int i = 0; i < count; i++) {
      int j = random.nextInt(i + 1);
      indices[i] = indices[j];
      indices[j] = i;
    }
    return indices;
  }

  /** Something to time; its result keeps the compiler from leaving it out. */
  @FunctionalInterface
  private interface Work {
    long run();
  }
}
