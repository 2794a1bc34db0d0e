/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.ElementType;
import dev.hawser.memory.ReduceOp;
import dev.hawser.memory.cuda.Cuda;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * What the operations reach on a GPU, beside plain calls of the driver in the same run, in turns. Each figure is the median
 * of rounds; each walks over more memory than the cache of the device holds.
 *
 * <p>Arguments: the file for the JSON.
 */
final class GpuBench {
  private static final long MIB = 1 << 20;
  private static final long POOL = 1024 * MIB;
  private static final int ROUNDS = 15;
  private static final Duration DEADLINE = Duration.ofSeconds(60);

  private final List<String> rows = new ArrayList<>();
  private final Gpu gpu = Cuda.memory().gpu(0);
  private final GpuStream stream = gpu.newStream();
  private final GpuDeviceOps ops = GpuDeviceOps.on(stream);
  private final GpuDeviceOps direct = GpuDeviceOps.on(stream, CopyBatch.TABLE_BYTES);
  private final GpuDeviceOps indirect = GpuDeviceOps.on(stream, 0);
  private final GpuBuffer left = gpu.allocate(POOL);
  private final GpuBuffer right = gpu.allocate(POOL);

  private GpuBench() {}

  /** One way of doing some work. */
  private record Way(String name, Runnable work) {}

  /** Runs it. */
  public static void main(String[] args) throws IOException {
    Files.writeString(Path.of(args[0]), new GpuBench().run());
  }

  private String run() {
    GpuProperties properties = gpu.properties();
    stream.fill(left.address(), (byte) 1, POOL);
    stream.fill(right.address(), (byte) 2, POOL);
    contiguous();
    for (int kib : new int[] {1, 4, 16, 64}) {
      shuffled(kib);
    }
    grids();
    engineOrKernel();
    tables();
    hostCopies();
    computing();
    posting();
    return String.format(
        Locale.ROOT,
        "{\"tool\":\"gpu-bench\",\"device\":\"%s\",\"driver\":\"%s\",\"pci\":\"%s\",\"rounds\":%d,\"rows\":[\n%s\n]}\n",
        properties.name(),
        Cuda.memory().driver().description(),
        properties.pciBusId(),
        ROUNDS,
        String.join(",\n", rows));
  }

  /** Times ways in turns, each round in the other order; {@code bytes} is the payload of one. */
  private void compare(String what, long bytes, Way... ways) {
    double[][] micros = new double[ways.length][ROUNDS];
    for (int round = -3; round < ROUNDS; round++) {
      for (int i = 0; i < ways.length; i++) {
        int way = round % 2 == 0 ? i : ways.length - 1 - i;
        double taken = time(ways[way].work());
        if (round >= 0) {
          micros[way][round] = taken;
        }
      }
    }
    for (int way = 0; way < ways.length; way++) {
      double[] sorted = micros[way].clone();
      Arrays.sort(sorted);
      double median = sorted[ROUNDS / 2];
      row(
          String.format(
              Locale.ROOT,
              "{\"work\":\"%s\",\"way\":\"%s\",\"bytes\":%d,\"median_us\":%.1f,\"min_us\":%.1f,\"max_us\":%.1f,"
                  + "\"gbytes_per_s\":%.1f}",
              what,
              ways[way].name(),
              bytes,
              median,
              sorted[0],
              sorted[ROUNDS - 1],
              bytes / median / 1e3));
    }
  }

  /** Microseconds from the first call until the device is done. */
  private double time(Runnable work) {
    stream.await(DEADLINE);
    long start = System.nanoTime();
    work.run();
    while (!stream.isIdle()) {
      Thread.onSpinWait();
    }
    return (System.nanoTime() - start) / 1e3;
  }

  private void row(String json) {
    rows.add(json);
    System.out.println(json);
  }

  private void contiguous() {
    for (long mib : new long[] {1, 64, 1024}) {
      long bytes = mib * MIB;
      int times = (int) Math.max(1, 256 / mib);
      compare(
          "copy " + mib + " MiB",
          bytes * times,
          new Way("ops",
              () -> each(times, i -> ops.copy(left.address() + i * bytes, right.address() + i * bytes, bytes))),
          new Way("driver", () -> each(times, i -> plainCopy(i * bytes, i * bytes, bytes))));
    }
  }

  private void plainCopy(long from, long to, long bytes) {
    gpu.driver().copy(left.address() + from, right.address() + to, bytes, stream.handle());
  }

  private interface Step {
    void at(long i);
  }

  private static void each(int times, Step step) {
    for (int i = 0; i < times; i++) {
      step.at(i);
    }
  }

  private int[] order(int count, int seed) {
    int[] order = new int[count];
    Random random = new Random(seed);
    for (int i = 0; i < count; i++) {
      int other = random.nextInt(i + 1);
      order[i] = order[other];
      order[other] = i;
    }
    return order;
  }

  private BlockPairs shuffledPairs(int count, long blockBytes) {
    int all = (int) (POOL / blockBytes);
    BlockList from = BlockList.strided(left.address(), blockBytes, blockBytes, all, gpu.device());
    BlockList to = BlockList.strided(right.address(), blockBytes, blockBytes, all, gpu.device());
    return BlockPairs.of(from, Arrays.copyOf(order(all, 1), count), to, Arrays.copyOf(order(all, 2), count));
  }

  /** 32,768 blocks at most, of 256 MiB at most, out of pools of 1 GiB. */
  private void shuffled(int kib) {
    long blockBytes = kib * 1024L;
    int count = (int) Math.min(32_768, 256 * MIB / blockBytes);
    BlockPairs pairs = shuffledPairs(count, blockBytes);
    String what = count + " shuffled blocks of " + kib + " KiB";
    try (GpuCopyPlan plan = ops.prepare(pairs); Arena arena = Arena.ofConfined()) {
      List<Way> ways = new ArrayList<>();
      ways.add(new Way("ops", () -> ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE)));
      ways.add(new Way("prepared", () -> ops.copy(plan, CopyDirection.LOCAL_TO_REMOTE, 0, 0)));
      Way batch = batch(arena, pairs, count);
      if (batch != null) {
        ways.add(batch);
      }
      ways.add(new Way("cuMemcpyAsync each", () -> copyEach(pairs)));
      compare(what, pairs.totalBytes(), ways.toArray(Way[]::new));
      int depth = 8;
      compare(
          what + ", " + depth + " in flight",
          pairs.totalBytes() * depth,
          new Way("ops", () -> each(depth, i -> ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE))),
          new Way("prepared", () -> each(depth, i -> ops.copy(plan, CopyDirection.LOCAL_TO_REMOTE, 0, 0))));
    }
  }

  private @Nullable Way batch(Arena arena, BlockPairs pairs, int count) {
    if (!gpu.driver().hasCopyBatch()) {
      return null;
    }
    MemorySegment froms = arena.allocate(8L * count, 8);
    MemorySegment tos = arena.allocate(8L * count, 8);
    MemorySegment sizes = arena.allocate(8L * count, 8);
    BlockPairs.Cursor cursor = pairs.cursor();
    for (int i = 0; cursor.next(Long.MAX_VALUE); i++) {
      froms.setAtIndex(ValueLayout.JAVA_LONG, i, cursor.localAddress());
      tos.setAtIndex(ValueLayout.JAVA_LONG, i, cursor.remoteAddress());
      sizes.setAtIndex(ValueLayout.JAVA_LONG, i, cursor.length());
    }
    int pieces = pairs.size();
    return new Way(
        "cuMemcpyBatchAsync",
        () -> gpu.run(
            d -> d.copyBatch(froms.address(), tos.address(), sizes.address(), pieces, stream.handle())));
  }

  private void copyEach(BlockPairs pairs) {
    BlockPairs.Cursor cursor = pairs.cursor();
    long before = gpu.enter();
    while (cursor.next(Long.MAX_VALUE)) {
      gpu.driver().copy(cursor.localAddress(), cursor.remoteAddress(), cursor.length(), stream.handle());
    }
    gpu.leave(before);
  }

  /** The heads of one rank out of blocks of all: 2,048 blocks of 16 tokens, 8 heads of 128 in bf16, 2 of them. */
  private void grids() {
    long token = 8 * 128 * 2;
    BlockList from =
        BlockList.strided(left.address(), new long[] {2048, 16}, new long[] {16 * token, token}, token / 4,
            gpu.device());
    BlockList to =
        BlockList.strided(
            right.address(), new long[] {2048, 16}, new long[] {4 * token, token / 4}, token / 4, gpu.device());
    BlockPairs pairs = BlockPairs.of(from, to);
    try (GpuCopyPlan plan = ops.prepare(pairs)) {
      compare(
          "head range, 32768 pieces of 512 B",
          pairs.totalBytes(),
          new Way("ops", () -> ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE)),
          new Way("prepared", () -> ops.copy(plan, CopyDirection.LOCAL_TO_REMOTE, 0, 0)));
    }
  }

  /** From which size on the copy engine is the better one. */
  private void engineOrKernel() {
    for (long kib : new long[] {64, 256, 1024, 4096, 8192, 15 * 1024}) {
      long bytes = kib * 1024;
      int count = (int) (256 * MIB / bytes);
      int[] order = order(count, 3);
      compare(
          "pieces of " + kib + " KiB, 256 MiB",
          bytes * count,
          new Way(
              "kernel",
              () -> {
                ops.begin(CopyDirection.LOCAL_TO_REMOTE);
                for (int i = 0; i < count; i++) {
                  ops.add(left.address() + order[i] * bytes, right.address() + i * bytes, bytes);
                }
                ops.submit();
              }),
          new Way("engine", () -> each(count, i -> plainCopy(order[(int) i] * bytes, i * bytes, bytes))));
    }
  }

  /** Tables read from the host's memory or copied first. */
  private void tables() {
    for (int count : new int[] {64, 256, 1024, 4096, 16_384, 65_536}) {
      BlockPairs pairs = shuffledPairs(count, 4096);
      compare(
          "table of " + count + " blocks of 4 KiB",
          pairs.totalBytes(),
          new Way("direct", () -> direct.copy(pairs, CopyDirection.LOCAL_TO_REMOTE)),
          new Way("copied", () -> indirect.copy(pairs, CopyDirection.LOCAL_TO_REMOTE)));
    }
  }

  private void hostCopies() {
    long bytes = 256 * MIB;
    try (GpuBuffer pinned = gpu.allocateHost(bytes)) {
      compare(
          "pinned host 256 MiB",
          bytes,
          new Way("to device", () -> ops.copy(pinned.address(), left.address(), bytes)),
          new Way("from device", () -> ops.copy(left.address(), pinned.address(), bytes)));
      int count = 32_768;
      BlockList blocks = BlockList.strided(left.address(), 16_384, 4096, count, gpu.device());
      BlockPairs pairs = BlockPairs.packed(blocks, pinned.address());
      compare(
          "pinned host, 32768 blocks of 4 KiB",
          pairs.totalBytes(),
          new Way("gather by kernel", () -> ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE)),
          new Way("scatter by kernel", () -> ops.copy(pairs, CopyDirection.REMOTE_TO_LOCAL)),
          new Way(
              "gather, then copy engine",
              () -> {
                ops.gather(blocks, right.address());
                ops.copy(right.address(), pinned.address(), pairs.totalBytes());
              }));
    }
  }

  private void computing() {
    long half = POOL / 2;
    long elements = half / 2;
    compare(
        "permute 256 MiB NHD to HND, bf16, 8 heads of 128",
        256 * MIB,
        new Way(
            "ops",
            () -> ops.permute(
                left.address(), right.address(), new long[] {8192, 16, 8, 128}, new int[] {0, 2, 1, 3}, 2)));
    compare(
        "transpose 256 MiB of bf16",
        256 * MIB,
        new Way(
            "ops",
            () -> ops.permute(left.address(), right.address(), new long[] {8192, 16384}, new int[] {1, 0}, 2)));
    compare(
        "cast 512 MiB bf16 to f32",
        half,
        new Way(
            "ops", () -> ops.cast(left.address(), ElementType.BF16, right.address(), ElementType.F32, elements / 2)));
    compare(
        "reduce two of 256 MiB bf16",
        256 * MIB,
        new Way(
            "ops",
            () -> ops.reduce(
                ReduceOp.SUM,
                ElementType.BF16,
                new long[] {left.address(), left.address() + 256 * MIB},
                right.address(),
                128 * MIB)));
  }

  /** How long a call takes before the device has done anything. */
  private void posting() {
    BlockPairs pairs = shuffledPairs(40_000, 4096);
    try (GpuCopyPlan plan = ops.prepare(pairs)) {
      post("post 40000 shuffled blocks", () -> ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE));
      post("post 40000 shuffled blocks, prepared", () -> ops.copy(plan, CopyDirection.LOCAL_TO_REMOTE, 0, 0));
      post("post a copy of 64 KiB", () -> ops.copy(left.address(), right.address(), 65_536));
    }
    long start = System.nanoTime();
    for (int i = 0; i < 100_000; i++) {
      gpu.leave(gpu.enter());
    }
    row(String.format(
        Locale.ROOT, "{\"work\":\"enter and leave\",\"median_us\":%.3f}", (System.nanoTime() - start) / 1e8));
    gpu.adoptThread();
    start = System.nanoTime();
    for (int i = 0; i < 100_000; i++) {
      gpu.leave(gpu.enter());
    }
    row(String.format(
        Locale.ROOT, "{\"work\":\"enter and leave, adopted\",\"median_us\":%.3f}", (System.nanoTime() - start) / 1e8));
    GpuBuffer buffer = left;
    start = System.nanoTime();
    for (int i = 0; i < 10_000; i++) {
      gpu.driver().pointer(buffer.address());
    }
    row(String.format(
        Locale.ROOT, "{\"work\":\"attributes of a pointer\",\"median_us\":%.3f}", (System.nanoTime() - start) / 1e7));
  }

  private void post(String what, Runnable call) {
    double[] micros = new double[200];
    for (int i = 0; i < micros.length; i++) {
      stream.await(DEADLINE);
      long start = System.nanoTime();
      call.run();
      micros[i] = (System.nanoTime() - start) / 1e3;
    }
    Arrays.sort(micros);
    row(
        String.format(
            Locale.ROOT,
            "{\"work\":\"%s\",\"median_us\":%.1f,\"p99_us\":%.1f}",
            what,
            micros[micros.length / 2],
            micros[micros.length * 99 / 100]));
  }
}
