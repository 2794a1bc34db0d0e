/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.jmh;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.DeviceKind;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What it costs to take descriptors in: an N×3 array as a paged attention engine passes it (24 layers × 64 requests ×
 * 1024 blocks), the same as strides, and pairs by index arrays. Time is per descriptor, but for the strides.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class BlockListBenchmark {
  private static final int LAYERS = 24;
  private static final int REQUESTS = 64;
  private static final int BLOCKS = 1024;
  private static final int DESCRIPTORS = LAYERS * REQUESTS * BLOCKS;
  private static final int SHUFFLED = 40_000;
  private static final long BLOCK_BYTES = 4096;
  private static final long BASE = 1L << 40;

  private final long[] triples = new long[DESCRIPTORS * 3];
  private final int[] local = new int[SHUFFLED];
  private final int[] remote = new int[SHUFFLED];
  private BlockList pool = BlockList.strided(BASE, BLOCK_BYTES, BLOCK_BYTES, SHUFFLED);

  /** Every other block of each layer, as addresses, lengths and devices. */
  @Setup
  public void fill() {
    int at = 0;
    for (int i = 0; i < DESCRIPTORS; i++) {
      triples[at++] = BASE + 2 * BLOCK_BYTES * i;
      triples[at++] = BLOCK_BYTES;
      triples[at++] = 0;
    }
    SplittableRandom random = new SplittableRandom(1);
    for (int[] order : new int[][] {local, remote}) {
      for (int i = 0; i < SHUFFLED; i++) {
        int j = random.nextInt(i + 1);
        order[i] = order[j];
        order[j] = i;
      }
    }
    pool = BlockList.strided(BASE, BLOCK_BYTES, BLOCK_BYTES, SHUFFLED);
  }

  /** An N×3 array is compressed to runs. */
  @Benchmark
  @OperationsPerInvocation(DESCRIPTORS)
  public BlockList triples() {
    return BlockList.fromTriples(triples, DeviceKind.HOST);
  }

  /** The same blocks as three strides, in all. */
  @Benchmark
  public BlockList strides() {
    return BlockList.strided(BASE, new long[] {LAYERS, REQUESTS, BLOCKS},
        new long[] {2L * REQUESTS * BLOCKS * BLOCK_BYTES, 2L * BLOCKS * BLOCK_BYTES, 2 * BLOCK_BYTES}, BLOCK_BYTES);
  }

  /** Blocks picked by shuffled index arrays on both sides. */
  @Benchmark
  @OperationsPerInvocation(SHUFFLED)
  public BlockPairs shuffledPairs() {
    return BlockPairs.of(pool, local, pool, remote);
  }
}
