/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/**
 * Measures the transport alone, each figure against what it is compared with, in turns (ABBA), medians. Run by hand with
 * the test class path: {@code java --enable-native-access=ALL-UNNAMED dev.hawser.engine.shm.ShmBench [PROCESS_VM]}, where
 * PROCESS_VM is the compiled {@code perf/peers/process_vm.c}.
 */
final class ShmBench {
  private static final int PAIRS = 10;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private ShmBench() {}

  /** Prints a line per figure. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    try (PathRig rig = new PathRig()) {
      long big = 256L << 20;
      Region here = PathRig.mapped(rig.here, big, Access.REMOTE_READ_WRITE);
      Region there = PathRig.mapped(rig.there, big, Access.REMOTE_READ_WRITE);
      // In whole pages, as the C program's.
      Region foreign = rig.there.register(rig.arena.allocate(big, 4096), Access.REMOTE_READ_WRITE);
      Region foreseen = PathRig.mapped(rig.there, big, Access.REMOTE_READ_WRITE);
      Region foreignHere = rig.here.register(rig.arena.allocate(big, 4096), Access.LOCAL);
      for (Region region : new Region[] {here, there, foreseen, foreign, foreignHere}) {
        region.segment().fill((byte) 1);
      }
      // The region's own mapping counts as the mapped buffer of the comparison.
      first(rig, here, there, big);
      rig.initiator.foresee(PathRig.published(foreseen));
      rig.pump();
      long until = System.nanoTime() + 1_000_000_000L;
      rig.pumpUntil(() -> System.nanoTime() - until > 0);
      System.out.println("foreseen a second before:");
      first(rig, here, foreseen, big);
      write(rig, PathRig.plan(here, 0, foreign, 0, big));
      small(rig, here, there);
      for (long bytes : new long[] {4096, 64 << 10, 1 << 20, 16 << 20, 64 << 20}) {
        sized("mapped write", rig, here, there, bytes);
      }
      shuffled(rig, here, there);
      messages(rig);
      if (arguments.length > 0) {
        for (long bytes : new long[] {4096, 64 << 10, 1 << 20, 64 << 20}) {
          kernel(arguments[0], rig, Op.WRITE, foreignHere, foreign, bytes, bytes);
          kernel(arguments[0], rig, Op.READ, foreignHere, foreign, bytes, bytes);
        }
        kernel(arguments[0], rig, Op.READ, foreignHere, foreign, 16 << 20, 4096);
      }
    }
  }

  /** What a region's first use costs more than its second: its place in this process's page table. */
  private static void first(PathRig rig, Region here, Region there, long bytes) {
    for (String which : new String[] {"first", "second", "third"}) {
      long start = System.nanoTime();
      write(rig, PathRig.plan(here, 0, there, 0, bytes));
      System.out.printf("%s write of %d MiB: %.1f ms%n", which, bytes >> 20, (System.nanoTime() - start) / 1e6);
    }
  }

  private static void write(PathRig rig, TransferPlan plan) {
    move(rig, Op.WRITE, plan);
  }

  private static void move(PathRig rig, Op op, TransferPlan plan) {
    int before = rig.atInitiator.completed.size();
    while (!rig.post(1, op, plan)) {
      rig.initiator.poll(rig.atInitiator);
    }
    while (rig.atInitiator.completed.size() == before) {
      rig.initiator.poll(rig.atInitiator);
      if (rig.atInitiator.completed.size() == before) {
        rig.target.poll(rig.atTarget);
      }
    }
    rig.atInitiator.completed.clear();
  }

  private static void small(PathRig rig, Region here, Region there) {
    TransferPlan plan = PathRig.plan(here, 8, there, 16, 8);
    int rounds = 1_000_000;
    long[] nanos = new long[rounds];
    for (int warm = 0; warm < 3; warm++) {
      for (int i = 0; i < rounds; i++) {
        long start = System.nanoTime();
        rig.post(i, Op.WRITE, plan);
        rig.initiator.poll(rig.atInitiator);
        nanos[i] = System.nanoTime() - start;
        rig.atInitiator.completed.clear();
      }
    }
    Arrays.sort(nanos);
    long start = System.nanoTime();
    for (int i = 0; i < rounds; i++) {
      rig.post(i, Op.WRITE, plan);
      rig.initiator.poll(rig.atInitiator);
      rig.atInitiator.completed.clear();
    }
    System.out.printf(
        "8 B write, post and poll: p50 %d ns, p99 %d ns, p99.9 %d ns; mean %.1f ns%n",
        nanos[rounds / 2], nanos[rounds / 100 * 99], nanos[rounds / 1000 * 999],
        (System.nanoTime() - start) / (double) rounds);
  }

  private static void sized(String name, PathRig rig, Region here, Region there, long bytes) {
    int windows = (int) Math.min(256, here.length() / bytes);
    TransferPlan[] plans = new TransferPlan[windows];
    for (int i = 0; i < windows; i++) {
      plans[i] = PathRig.plan(here, i * bytes, there, i * bytes, bytes);
    }
    int rounds = (int) Math.max(4, Math.min(20000, (1L << 30) / bytes));
    long delta = deltaOf(rig, there);
    compare(
        name + " " + bytes,
        rounds * bytes,
        () -> {
          for (int i = 0; i < rounds; i++) {
            write(rig, plans[i % windows]);
          }
        },
        () -> {
          for (int i = 0; i < rounds; i++) {
            long offset = i % windows * bytes;
            HostDeviceOps.INSTANCE.copy(here.address() + offset, there.address() + delta + offset, bytes);
          }
        });
  }

  private static void shuffled(PathRig rig, Region here, Region there) {
    int blocks = 4096;
    long bytes = 4096;
    int[] from = shuffle(blocks, 1);
    int[] to = shuffle(blocks, 2);
    BlockList local = BlockList.strided(here.address(), 2 * bytes, bytes, blocks);
    BlockList remote = BlockList.strided(there.address(), 2 * bytes, bytes, blocks);
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(local, from, remote, to),
            new Region[] {here},
            new RemoteRegion[] {PathRig.published(there)});
    int rounds = 20;
    long delta = deltaOf(rig, there);
    compare(
        "mapped write 4096 x 4096 shuffled",
        (long) rounds * blocks * bytes,
        () -> {
          for (int i = 0; i < rounds; i++) {
            write(rig, plan);
          }
        },
        () -> {
          for (int i = 0; i < rounds; i++) {
            for (int k = 0; k < blocks; k++) {
              HostDeviceOps.INSTANCE.copy(
                  here.address() + 2 * bytes * from[k], there.address() + delta + 2 * bytes * to[k], bytes);
            }
          }
        });
  }

  /** Two threads that poll: how long a message takes to the other side, posting and processing included. */
  private static void messages(PathRig rig) throws InterruptedException {
    int rounds = 200_000;
    CountingEvents there = new CountingEvents();
    Thread answering =
        Thread.ofPlatform()
            .start(
                () -> {
                  ByteBuffer message = ByteBuffer.allocateDirect(64);
                  long answered = 0;
                  while (answered < rounds) {
                    rig.target.poll(there);
                    if (there.messages > answered) {
                      answered++;
                      rig.target.postMessage(0, message);
                      rig.target.flushPosted();
                    }
                  }
                });
    CountingEvents here = new CountingEvents();
    ByteBuffer message = ByteBuffer.allocateDirect(64);
    long[] nanos = new long[rounds];
    for (int i = 0; i < rounds; i++) {
      long start = System.nanoTime();
      rig.initiator.postMessage(0, message);
      rig.initiator.flushPosted();
      while (here.messages <= i) {
        rig.initiator.poll(here);
      }
      nanos[i] = System.nanoTime() - start;
    }
    answering.join();
    Arrays.sort(nanos, rounds / 2, rounds);
    System.out.printf(
        "64 B message, there and back, two polling threads: p50 %d ns, p99 %d ns%n",
        nanos[rounds / 2 + rounds / 4], nanos[rounds / 2 + rounds / 200 * 99]);
  }

  /** Against a C program that does the same between two processes. */
  private static void kernel(
      String program, PathRig rig, Op op, Region here, Region there, long bytes, long blockBytes)
      throws IOException, InterruptedException {
    long blocks = bytes / blockBytes;
    long stride = blocks == 1 ? blockBytes : 2 * blockBytes;
    int windows = (int) (here.length() / (blocks * stride));
    TransferPlan[] plans = new TransferPlan[windows];
    for (int i = 0; i < windows; i++) {
      plans[i] =
          PathRig.plan(
              here,
              BlockList.strided(here.address() + i * blocks * stride, stride, blockBytes, blocks),
              PathRig.published(there),
              BlockList.strided(there.address() + i * blocks * stride, stride, blockBytes, blocks));
    }
    int rounds = (int) Math.max(4, Math.min(50_000, (1L << 30) / bytes));
    double[] ours = new double[PAIRS];
    double[] theirs = new double[PAIRS];
    double[] ratio = new double[PAIRS];
    for (int i = -1; i < PAIRS; i++) {
      int at = Math.max(i, 0);
      if (i % 2 == 0) {
        theirs[at] = measure(program, op, bytes, blockBytes, rounds);
      }
      double nanos =
          time(
              () -> {
                for (int round = 0; round < rounds; round++) {
                  move(rig, op, plans[round % windows]);
                }
              });
      ours[at] = bytes * rounds / nanos;
      if (i % 2 != 0) {
        theirs[at] = measure(program, op, bytes, blockBytes, rounds);
      }
      ratio[at] = ours[at] / theirs[at];
    }
    Arrays.sort(ours);
    Arrays.sort(theirs);
    Arrays.sort(ratio);
    System.out.printf(
        "kernel %-5s %8d in %8d              %7.2f GB/s, C has        %7.2f GB/s; ratio %.3f (%.3f to %.3f)%n",
        op, bytes, blockBytes, ours[PAIRS / 2], theirs[PAIRS / 2], ratio[PAIRS / 2], ratio[0], ratio[PAIRS - 1]);
  }

  private static double measure(String program, Op op, long bytes, long blockBytes, int rounds)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
            program, op == Op.WRITE ? "write" : "read", Long.toString(bytes), Long.toString(blockBytes),
            Integer.toString(rounds))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String line = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(program + " failed");
    }
    String key = "\"cpu_gbytes_per_s\":";
    return Double.parseDouble(line.substring(line.indexOf(key) + key.length(), line.lastIndexOf('}')));
  }

  private static long deltaOf(PathRig rig, Region there) {
    return there.backing().isPresent() ? rig.initiator.deltaOf(there.id()) : 0;
  }

  private static int[] shuffle(int n, long seed) {
    int[] order = new int[n];
    for (int i = 0; i < n; i++) {
      order[i] = i;
    }
    Random random = new Random(seed);
    for (int i = n - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      int swapped = order[i];
      order[i] = order[j];
      order[j] = swapped;
    }
    return order;
  }

  private static void compare(String name, long bytes, Runnable ours, Runnable theirs) {
    double[] a = new double[PAIRS];
    double[] b = new double[PAIRS];
    double[] ratio = new double[PAIRS];
    time(ours);
    time(theirs);
    for (int i = 0; i < PAIRS; i++) {
      if (i % 2 == 0) {
        a[i] = time(ours);
        b[i] = time(theirs);
      } else {
        b[i] = time(theirs);
        a[i] = time(ours);
      }
      ratio[i] = b[i] / a[i];
    }
    Arrays.sort(a);
    Arrays.sort(b);
    Arrays.sort(ratio);
    System.out.printf(
        "%-36s %7.2f GB/s, compared with %7.2f GB/s; ratio %.3f (%.3f to %.3f)%n",
        name, bytes / a[PAIRS / 2], bytes / b[PAIRS / 2], ratio[PAIRS / 2], ratio[0], ratio[PAIRS - 1]);
  }

  private static double time(Runnable work) {
    // The thread's own time: what others do to the machine meanwhile is not counted.
    long start = THREADS.getCurrentThreadCpuTime();
    work.run();
    return THREADS.getCurrentThreadCpuTime() - start;
  }
}
