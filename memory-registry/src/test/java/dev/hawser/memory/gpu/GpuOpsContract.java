/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.Device;
import dev.hawser.memory.ElementType;
import dev.hawser.memory.HostDeviceOps;
import dev.hawser.memory.InvalidMemoryException;
import dev.hawser.memory.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@link GpuDeviceOps} must do on any driver: the same as {@link HostDeviceOps}, byte for byte. */
abstract class GpuOpsContract {
  private static final HostDeviceOps HOST = HostDeviceOps.INSTANCE;

  private final List<Twin> twins = new ArrayList<>();
  protected Gpu gpu;
  protected GpuDeviceOps ops;

  abstract GpuMemory memory();

  @BeforeEach
  void open() {
    gpu = memory().gpu(0);
    ops = GpuDeviceOps.on(gpu);
  }

  @AfterEach
  void close() {
    ops.close();
    twins.forEach(Twin::close);
  }

  private Twin twin(long bytes, long seed) {
    Twin twin = new Twin(ops.stream(), bytes, seed);
    twins.add(twin);
    return twin;
  }

  private BlockPairs pairs(Twin left, Twin right, long[] offsets, boolean onHost) {
    Device device = onHost ? Device.HOST : gpu.device();
    BlockList.Builder local = BlockList.builder(device);
    BlockList.Builder remote = BlockList.builder(device);
    for (int i = 0; i < offsets.length; i += 3) {
      local.add((onHost ? left.hostAddress() : left.device()) + offsets[i], offsets[i + 2]);
      remote.add((onHost ? right.hostAddress() : right.device()) + offsets[i + 1], offsets[i + 2]);
    }
    return BlockPairs.of(local.build(), remote.build());
  }

  private void copyBoth(Twin left, Twin right, long[] offsets, CopyDirection direction, String what) {
    ops.copy(pairs(left, right, offsets, false), direction);
    ops.finish();
    HOST.copy(pairs(left, right, offsets, true), direction);
    left.assertSame(what + ", local");
    right.assertSame(what + ", remote");
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void copiesBlocksOfManyLengthsAndAlignments(long seed) {
    Random random = new Random(seed);
    Twin left = twin(1 << 20, seed);
    Twin right = twin(1 << 20, ~seed);
    int align = 1 << random.nextInt(6);
    List<long[]> pieces = new ArrayList<>();
    long localAt = 0;
    long remoteAt = 0;
    while (true) {
      int most = random.nextInt(8) == 0 ? 20_000 : 300;
      long length = (1L + random.nextInt(most)) / align * align + (long) random.nextInt(2) * align;
      if (length == 0) {
        continue;
      }
      localAt += (long) random.nextInt(5) * align;
      remoteAt += (long) random.nextInt(5) * align;
      if (localAt + length > 1 << 20 || remoteAt + length > 1 << 20) {
        break;
      }
      pieces.add(new long[] {localAt, remoteAt, length});
      localAt += length;
      remoteAt += length;
    }
    Collections.shuffle(pieces, random);
    long[] offsets = pieces.stream().flatMapToLong(Arrays::stream).toArray();
    CopyDirection direction = random.nextBoolean() ? CopyDirection.LOCAL_TO_REMOTE : CopyDirection.REMOTE_TO_LOCAL;
    copyBoth(left, right, offsets, direction, "seed " + seed + ", aligned to " + align);
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 24, 100, 128, 256, 272, 512, 4096, 4099, 16384, 20000})
  void copiesShuffledBlocksOfOneLength(int bytes) {
    int blocks = Math.min(20_000, (8 << 20) / bytes);
    Random random = new Random(bytes);
    Twin left = twin((long) blocks * bytes, bytes);
    Twin right = twin((long) blocks * bytes, ~bytes);
    long[] offsets = new long[3 * blocks];
    int[] to = shuffled(blocks, random);
    int[] from = shuffled(blocks, random);
    for (int i = 0; i < blocks; i++) {
      offsets[3 * i] = (long) from[i] * bytes;
      offsets[3 * i + 1] = (long) to[i] * bytes;
      offsets[3 * i + 2] = bytes;
    }
    copyBoth(left, right, offsets, CopyDirection.LOCAL_TO_REMOTE, blocks + " blocks of " + bytes);
  }

  @Test
  void copiesMoreBlocksThanOneTableTakes() {
    int blocks = 300_000;
    Random random = new Random(9);
    Twin left = twin(blocks * 16L, 1);
    Twin right = twin(blocks * 16L, 2);
    long[] offsets = new long[3 * blocks];
    int[] from = shuffled(blocks, random);
    int[] to = shuffled(blocks, random);
    for (int i = 0; i < blocks; i++) {
      offsets[3 * i] = from[i] * 16L;
      offsets[3 * i + 1] = to[i] * 16L;
      offsets[3 * i + 2] = i > 200_000 ? 1 + random.nextInt(16) : 16;
    }
    copyBoth(left, right, offsets, CopyDirection.REMOTE_TO_LOCAL, "300,000 blocks");
  }

  private static int[] shuffled(int count, Random random) {
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      int other = random.nextInt(i + 1);
      order[i] = order[other];
      order[other] = i;
    }
    return order;
  }

  @Test
  void copiesGridsAndLargePieces() {
    Twin left = twin(16 << 20, 1);
    Twin right = twin(16 << 20, 2);
    BlockPairs onDevice =
        BlockPairs.of(
            BlockList.strided(left.device(), new long[] {3, 1000}, new long[] {1 << 20, 1024}, 512, gpu.device()),
            BlockList.strided(right.device(), new long[] {3, 1000}, new long[] {2 << 20, 768}, 512, gpu.device()));
    BlockPairs onHost =
        BlockPairs.of(
            BlockList.strided(left.hostAddress(), new long[] {3, 1000}, new long[] {1 << 20, 1024}, 512),
            BlockList.strided(right.hostAddress(), new long[] {3, 1000}, new long[] {2 << 20, 768}, 512));
    ops.copy(onDevice, CopyDirection.LOCAL_TO_REMOTE);
    HOST.copy(onHost, CopyDirection.LOCAL_TO_REMOTE);
    right.assertSame("grid");
    long[] large = {0, 8 << 20, 5 << 20, (5 << 20) + 3, 1, (2 << 20) + 5, 12 << 20, 6 << 20, 1000};
    copyBoth(left, right, large, CopyDirection.LOCAL_TO_REMOTE, "large pieces");
  }

  @Test
  void copiesPieceByPiece() {
    Twin left = twin(100_000, 1);
    Twin right = twin(100_000, 2);
    long[] offsets = new long[300];
    for (int i = 0; i < 100; i++) {
      offsets[3 * i] = i * 1000L;
      offsets[3 * i + 1] = (99 - i) * 1000L;
      offsets[3 * i + 2] = 700;
    }
    BlockPairs.Cursor cursor = pairs(left, right, offsets, false).cursor();
    long copied = 0;
    long part;
    do {
      part = ops.copy(cursor, 333, CopyDirection.LOCAL_TO_REMOTE);
      copied += part;
    } while (part == 333);
    ops.finish();
    HOST.copy(pairs(left, right, offsets, true), CopyDirection.LOCAL_TO_REMOTE);

    assertThat(copied).isEqualTo(70_000);
    right.assertSame("piece by piece");
    right.host().set(ValueLayout.JAVA_BYTE, 99_999, (byte) ~right.host().get(ValueLayout.JAVA_BYTE, 99_999));
    assertThatThrownBy(() -> right.assertSame("planted")).as("a planted wrong byte is seen").isInstanceOf(
        AssertionError.class);
  }

  @ParameterizedTest
  @ValueSource(longs = {-9_000_000, -8_388_608, -1, 0, 1, 8_388_607, 9_000_000})
  void overlappingCopiesAreAsThroughABuffer(long shift) {
    long bytes = 20_000_001;
    Twin memory = twin(bytes + 18_000_000, shift);
    ops.copy(memory.device() + 9_000_000, memory.device() + 9_000_000 + shift, bytes);
    ops.finish();
    HOST.copy(memory.hostAddress() + 9_000_000, memory.hostAddress() + 9_000_000 + shift, bytes);
    memory.assertSame("shift " + shift);
  }

  @Test
  void gathersAndScatters() {
    Twin blocks = twin(1 << 20, 1);
    Twin packed = twin(1 << 20, 2);
    long[] offsets = {4000, 17, 100_000, 4096, 300_000, 1, 7, 33, 500_000, 100_001};
    BlockList.Builder device = BlockList.builder(gpu.device());
    BlockList.Builder host = BlockList.builder(Device.HOST);
    for (int i = 0; i < offsets.length; i += 2) {
      device.add(blocks.device() + offsets[i], offsets[i + 1]);
      host.add(blocks.hostAddress() + offsets[i], offsets[i + 1]);
    }
    BlockList onDevice = device.build();
    BlockList onHost = host.build();
    ops.gather(onDevice, packed.device() + 5);
    HOST.gather(onHost, packed.hostAddress() + 5);
    packed.assertSame("gather");
    ops.scatter(packed.device() + 6, onDevice);
    HOST.scatter(packed.hostAddress() + 6, onHost);
    blocks.assertSame("scatter");
  }

  @Test
  void preparedCopiesAreMadeAgainElsewhere() {
    int blocks = 5000;
    Twin left = twin(2L * blocks * 512 + (4 << 20), 1);
    Twin right = twin(2L * blocks * 512 + (4 << 20), 2);
    Random random = new Random(3);
    int[] to = shuffled(blocks, random);
    long[] offsets = new long[3 * (blocks + 1)];
    for (int i = 0; i < blocks; i++) {
      offsets[3 * i] = i * 512L;
      offsets[3 * i + 1] = to[i] * 512L;
      offsets[3 * i + 2] = 512;
    }
    offsets[3 * blocks] = 2L * blocks * 512;
    offsets[3 * blocks + 1] = 2L * blocks * 512;
    offsets[3 * blocks + 2] = 2 << 20;
    try (GpuCopyPlan plan = ops.prepare(pairs(left, right, offsets, false))) {
      assertThat(plan.totalBytes()).isEqualTo(blocks * 512L + (2 << 20));
      ops.copy(plan, CopyDirection.LOCAL_TO_REMOTE, 0, 0);
      ops.finish();
      HOST.copy(pairs(left, right, offsets, true), CopyDirection.LOCAL_TO_REMOTE);
      right.assertSame("first");
      ops.copy(plan, CopyDirection.REMOTE_TO_LOCAL, 1_000_000, 2_000_000);
      ops.finish();
      long[] moved = offsets.clone();
      for (int i = 0; i < moved.length; i += 3) {
        moved[i] += 1_000_000;
        moved[i + 1] += 2_000_000;
      }
      HOST.copy(pairs(left, right, moved, true), CopyDirection.REMOTE_TO_LOCAL);
      left.assertSame("second, elsewhere");
    }
  }

  @Test
  void theOtherSideMayBeHostMemoryPinnedOrNot() {
    Twin device = twin(1 << 20, 1);
    try (GpuBuffer pinned = gpu.allocateHost(1 << 20)) {
      MemorySegment pageable = Arena.ofAuto().allocate(1 << 20, 64);
      pageable.fill((byte) 7);
      for (long side : new long[] {pinned.address(), pageable.address()}) {
        BlockPairs pairs =
            BlockPairs.of(
                BlockList.strided(device.device(), 8192, 4096, 64, gpu.device()),
                BlockList.strided(side, 4096, 4096, 64, Device.HOST));
        ops.copy(pairs, CopyDirection.LOCAL_TO_REMOTE);
        ops.finish();
        for (int i = 0; i < 64; i++) {
          assertThat(Native.ALL.asSlice(side + i * 4096L, 4096).mismatch(device.host().asSlice(i * 8192L, 4096)))
              .isEqualTo(-1);
        }
        Native.ALL.asSlice(side, 4096).fill((byte) 9);
        ops.copy(pairs, CopyDirection.REMOTE_TO_LOCAL);
        ops.finish();
        device.host().asSlice(0, 4096).fill((byte) 9);
        device.assertSame("back from the host");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void permutesAsTheHostDoes(long seed) {
    Random random = new Random(seed);
    int rank = 1 + random.nextInt(5);
    int[] axes = shuffled(rank, random);
    long[] shape = new long[rank];
    int elementBytes = new int[] {1, 2, 3, 4, 8, 16, 24, 32, 256}[random.nextInt(9)];
    long elements = 1;
    for (int i = 0; i < rank; i++) {
      shape[i] = 1L + random.nextInt(20);
      elements *= shape[i];
    }
    if (elements * elementBytes > 20 << 20) {
      shape[0] = 1;
    }
    Twin from = twin(64L + 20 * elements * elementBytes / 20, seed);
    Twin to = twin(64L + elements * elementBytes, ~seed);
    int shift = random.nextInt(3) == 0 ? 1 : 16;
    ops.permute(from.device() + shift, to.device() + shift, shape, axes, elementBytes);
    ops.finish();
    HOST.permute(from.hostAddress() + shift, to.hostAddress() + shift, shape, axes, elementBytes);
    to.assertSame(Arrays.toString(shape) + " as " + Arrays.toString(axes) + " of " + elementBytes);
  }

  @Test
  void permutesManyAxesAndRefusesWrongOnes() {
    long[] shape = {2, 3, 2, 3, 2, 3, 2, 3};
    int[] axes = {7, 6, 5, 4, 3, 2, 1, 0};
    Twin from = twin(1296 * 24, 1);
    Twin to = twin(1296 * 24, 2);
    ops.permute(from.device(), to.device(), shape, axes, 24);
    ops.finish();
    HOST.permute(from.hostAddress(), to.hostAddress(), shape, axes, 24);
    to.assertSame("eight axes of odd elements");
    assertThatThrownBy(() -> ops.permute(0, 0, shape, new int[] {0, 0, 1, 2, 3, 4, 5, 6}, 2))
        .isInstanceOf(InvalidMemoryException.class).hasMessageContaining("axes");
    ops.permute(from.device(), to.device(), new long[] {4, 0}, new int[] {1, 0}, 2);
    ops.finish();
  }

  @ParameterizedTest
  @CsvSource({"F32,BF16", "F32,F16", "BF16,F32", "BF16,F16", "F16,F32", "F16,BF16", "F16,F16"})
  void castsAsTheHostDoes(ElementType fromType, ElementType toType) {
    int count = 70_001;
    Twin from = twin(count * 4L, 5);
    Twin to = twin(count * 4L, 6);
    if (fromType != ElementType.F32) {
      for (int i = 0; i < 65_536; i++) {
        from.host().setAtIndex(ValueLayout.JAVA_SHORT, i, (short) i);
      }
    } else {
      float[] special = {0f, -0f, 1f, 65504f, 65520f, 1e-8f, 6e-8f, 3.4e38f, Float.NaN, Float.POSITIVE_INFINITY};
      for (int i = 0; i < special.length; i++) {
        from.host().setAtIndex(ValueLayout.JAVA_FLOAT, i, special[i]);
      }
    }
    from.upload();
    ops.cast(from.device(), fromType, to.device(), toType, count);
    ops.finish();
    HOST.cast(from.hostAddress(), fromType, to.hostAddress(), toType, count);
    if (fromType == toType) {
      to.assertSame("same type");
      return;
    }
    MemorySegment found = MemorySegment.ofArray(to.download());
    for (int i = 0; i < count; i++) {
      long got = bits(found, toType, i);
      long wanted = bits(to.host(), toType, i);
      if (got != wanted && !(isNan(got, toType) && isNan(wanted, toType))) {
        throw new AssertionError(
            fromType + " to " + toType + ", element " + i + ": " + Long.toHexString(got) + ", not "
                + Long.toHexString(wanted));
      }
    }
  }

  private static long bits(MemorySegment memory, ElementType type, int index) {
    return type == ElementType.F32
        ? memory.getAtIndex(ValueLayout.JAVA_INT_UNALIGNED, index)
        : memory.getAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, index);
  }

  private static boolean isNan(long bits, ElementType type) {
    return switch (type) {
      case F32 -> Float.isNaN(Float.intBitsToFloat((int) bits));
      case BF16 -> Float.isNaN(Float.intBitsToFloat((int) bits << 16));
      default -> Float.isNaN(Float.float16ToFloat((short) bits));
    };
  }

  @ParameterizedTest
  @EnumSource(ElementType.class)
  void reducesAsTheHostDoes(ElementType type) {
    int count = 10_007;
    for (ReduceOp op : ReduceOp.values()) {
      for (int arrays : new int[] {1, 2, 5}) {
        List<Twin> sources = new ArrayList<>();
        for (int i = 0; i < arrays; i++) {
          Twin source = twin((long) count * type.bytes(), 100 + i);
          fill(source, type, new Random(i));
          sources.add(source);
        }
        Twin to = twin((long) count * type.bytes(), 99);
        ops.reduce(op, type, sources.stream().mapToLong(Twin::device).toArray(), to.device(), count);
        ops.finish();
        HOST.reduce(op, type, sources.stream().mapToLong(Twin::hostAddress).toArray(), to.hostAddress(), count);
        to.assertSame(op + " of " + arrays + " " + type);
      }
    }
    assertThatThrownBy(() -> ops.reduce(ReduceOp.SUM, type, new long[0], 0, 1)).hasMessageContaining("at least one");
  }

  private static void fill(Twin twin, ElementType type, Random random) {
    MemorySegment host = twin.host();
    for (int i = 0; i < host.byteSize() / type.bytes(); i++) {
      switch (type) {
        case F32 -> host.setAtIndex(ValueLayout.JAVA_FLOAT, i, i == 7 ? -0f : (float) random.nextGaussian());
        case F64 -> host.setAtIndex(ValueLayout.JAVA_DOUBLE, i, i == 7 ? -0.0 : random.nextGaussian());
        case BF16 -> host.setAtIndex(
            ValueLayout.JAVA_SHORT, i, (short) (Float.floatToIntBits((float) random.nextGaussian()) >> 16));
        case F16 -> host.setAtIndex(ValueLayout.JAVA_SHORT, i, Float.floatToFloat16((float) random.nextGaussian()));
        case I32 -> host.setAtIndex(ValueLayout.JAVA_INT, i, random.nextInt());
        case I64 -> host.setAtIndex(ValueLayout.JAVA_LONG, i, random.nextLong());
      }
    }
    twin.upload();
  }

  @Test
  void streamsWaitForValuesAndEvents() {
    try (GpuStream first = gpu.newStream();
        GpuStream second = gpu.newStream();
        GpuEvent reached = gpu.newEvent();
        GpuBuffer slot = gpu.allocate(64);
        GpuBuffer page = gpu.allocateHost(4096)) {
      first.fill(slot.address(), (byte) 0, 64);
      first.await(Duration.ofSeconds(10));
      Native.ALL.set(ValueLayout.JAVA_BYTE, page.address(), (byte) 1);
      first.waitValue(slot.address(), 5);
      first.copy(slot.address(), page.address(), 8);
      first.record(reached);
      second.waitFor(reached);
      assertThat(first.isIdle()).as("waits for a value that nobody has written").isFalse();
      assertThat(second.isIdle()).as("waits for the first stream").isFalse();
      assertThatThrownBy(() -> second.await(Duration.ofMillis(5))).isInstanceOf(GpuTimeoutException.class);
      try (GpuStream third = gpu.newStream()) {
        third.writeValue(slot.address(), 6);
        third.await(Duration.ofSeconds(10));
      }
      second.await(Duration.ofSeconds(10));
      assertThat(reached.isDone()).isTrue();
      assertThat(Native.ALL.get(ValueLayout.JAVA_LONG, page.address())).isEqualTo(6);
    }
  }

  @Test
  void exportsOnlyMemoryOfTheDevice() {
    try (GpuBuffer buffer = gpu.allocate(1 << 21); GpuBuffer host = gpu.allocateHost(4096)) {
      IpcExport export = gpu.export(buffer.address() + 4096);
      assertThat(export.offset()).isEqualTo(buffer.address() + 4096 - gpu.driver().pointer(buffer.address()).address());
      assertThat(export.bufferId()).isNotZero();
      assertThat(export.handle()).isEqualTo(gpu.export(buffer.address()).handle());
      assertThatThrownBy(() -> gpu.export(host.address())).isInstanceOf(InvalidMemoryException.class)
          .hasMessageContaining("pinned memory of the host");
      long heap = Arena.ofAuto().allocate(4096).address();
      assertThatThrownBy(() -> gpu.export(heap)).isInstanceOf(InvalidMemoryException.class);
    }
  }
}
