/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class HostDeviceOpsTest {
  private final DeviceOps ops = HostDeviceOps.INSTANCE;
  private final Arena arena = Arena.ofAuto(); // tests run on threads of their own

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void copiesPairsBothWays(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 50; round++) {
      int blocks = 1 + random.nextInt(200);
      int bytes = 1 + random.nextInt(300);
      MemorySegment local = filled(blocks * (bytes + 7L), seed * 100 + round);
      MemorySegment remote = filled(blocks * (bytes + 3L), ~seed);
      int[] localIndices = random.ints(0, blocks).distinct().limit(blocks).toArray();
      int[] remoteIndices = random.ints(0, blocks).distinct().limit(localIndices.length).toArray();
      BlockPairs pairs = BlockPairs.of(
          BlockList.strided(local.address(), bytes + 7L, bytes, blocks),
          localIndices,
          BlockList.strided(remote.address(), bytes + 3L, bytes, blocks),
          remoteIndices);
      boolean out = random.nextBoolean();
      byte[] from = (out ? local : remote).toArray(ValueLayout.JAVA_BYTE);
      byte[] expected = (out ? remote : local).toArray(ValueLayout.JAVA_BYTE);
      for (int i = 0; i < localIndices.length; i++) {
        int localAt = localIndices[i] * (bytes + 7);
        int remoteAt = remoteIndices[i] * (bytes + 3);
        System.arraycopy(from, out ? localAt : remoteAt, expected, out ? remoteAt : localAt, bytes);
      }
      ops.copy(pairs, out ? CopyDirection.LOCAL_TO_REMOTE : CopyDirection.REMOTE_TO_LOCAL);

      assertThat((out ? remote : local).toArray(ValueLayout.JAVA_BYTE))
          .as("seed " + seed + " round " + round)
          .isEqualTo(expected);
      assertThat((out ? local : remote).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(from);
    }
  }

  @Test
  void copiesAPlanPieceByPiece() {
    MemorySegment from = filled(10_000, 1);
    MemorySegment to = filled(10_000, 2);
    BlockPairs pairs = BlockPairs.of(
        BlockList.strided(from.address(), 100, 50, 100), BlockList.strided(to.address(), 100, 50, 100));
    byte[] expected = to.toArray(ValueLayout.JAVA_BYTE);
    for (int i = 0; i < 100; i++) {
      MemorySegment.copy(from, ValueLayout.JAVA_BYTE, i * 100L, expected, i * 100, 50);
    }
    BlockPairs.Cursor cursor = pairs.cursor();
    long copied = 0;
    long part;
    do {
      part = ops.copy(cursor, 37, CopyDirection.LOCAL_TO_REMOTE);
      copied += part;
    } while (part == 37);

    assertThat(copied).isEqualTo(5000);
    assertThat(to.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
    to.set(ValueLayout.JAVA_BYTE, 5001, (byte) ~expected[5001]);
    assertThat(to.toArray(ValueLayout.JAVA_BYTE)).as("a planted wrong byte is seen").isNotEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(longs = {-9_000_000, -4_194_304, -4_194_303, -1, 0, 1, 4_194_303, 4_194_304, 4_194_305, 9_000_000})
  void overlappingCopiesAreAsThroughABuffer(long shift) {
    long bytes = 13_000_001;
    MemorySegment memory = filled(bytes + 18_000_000, shift);
    long from = 9_000_000;
    byte[] expected = memory.asSlice(from, bytes).toArray(ValueLayout.JAVA_BYTE);
    byte[] before = memory.asSlice(0, Math.min(from, from + shift)).toArray(ValueLayout.JAVA_BYTE);
    ops.copy(memory.address() + from, memory.address() + from + shift, bytes);

    assertThat(memory.asSlice(from + shift, bytes).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
    assertThat(memory.asSlice(0, before.length).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(before);
  }

  @Test
  void gathersAndScatters() {
    MemorySegment blocks = filled(4096, 5);
    BlockList list = BlockList.concat(
        BlockList.strided(blocks.address() + 4000, -64, 32, 50), BlockList.of(blocks.address() + 7, 0),
        BlockList.of(blocks.address() + 3, 17));
    MemorySegment packed = arena.allocate(list.totalBytes());
    byte[] expected = new byte[(int) list.totalBytes()];
    int[] at = {0};
    list.forEach((index, address, length) -> {
      MemorySegment.copy(blocks, ValueLayout.JAVA_BYTE, address - blocks.address(), expected, at[0], (int) length);
      at[0] += (int) length;
    });
    ops.gather(list, packed.address());
    assertThat(packed.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);

    byte[] original = blocks.toArray(ValueLayout.JAVA_BYTE);
    list.forEach((index, address, length) -> HostMemory.segment(address, length).fill((byte) 0));
    assertThat(blocks.toArray(ValueLayout.JAVA_BYTE)).isNotEqualTo(original);
    ops.scatter(packed.address(), list);
    assertThat(blocks.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(original);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void permutesAsANaiveLoopDoes(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 60; round++) {
      int rank = 1 + random.nextInt(4);
      long[] shape = new long[rank];
      int[] axes = random.ints(0, rank).distinct().limit(rank).toArray();
      int count = 1;
      for (int axis = 0; axis < rank; axis++) {
        shape[axis] = 1L + random.nextInt(7);
        count *= (int) shape[axis];
      }
      int element = 1 << random.nextInt(4);
      MemorySegment from = filled((long) count * element, seed + round);
      MemorySegment to = arena.allocate((long) count * element);
      ops.permute(from.address(), to.address(), shape, axes, element);

      byte[] source = from.toArray(ValueLayout.JAVA_BYTE);
      byte[] expected = new byte[source.length];
      for (int target = 0; target < count; target++) {
        int origin = originOf(target, shape, axes);
        System.arraycopy(source, origin * element, expected, target * element, element);
      }
      assertThat(to.toArray(ValueLayout.JAVA_BYTE)).as("seed " + seed + " round " + round).isEqualTo(expected);
    }
  }

  @Test
  void nhdToHndAndBackIsTheSame() {
    long[] nhd = {16, 8, 128};
    MemorySegment from = filled(16 * 8 * 128 * 2, 9);
    MemorySegment hnd = arena.allocate(from.byteSize());
    MemorySegment back = arena.allocate(from.byteSize());
    ops.permute(from.address(), hnd.address(), nhd, new int[] {1, 0, 2}, 2);
    ops.permute(hnd.address(), back.address(), new long[] {8, 16, 128}, new int[] {1, 0, 2}, 2);

    assertThat(hnd.mismatch(from)).isNotEqualTo(-1);
    assertThat(back.mismatch(from)).isEqualTo(-1);
    long token3head2 = (3L * 8 + 2) * 128 * 2;
    long head2token3 = (2L * 16 + 3) * 128 * 2;
    assertThat(hnd.asSlice(head2token3, 256).mismatch(from.asSlice(token3head2, 256))).isEqualTo(-1);
  }

  @Test
  void everyHalfFloatSurvivesAFloat() {
    for (ElementType type : new ElementType[] {ElementType.BF16, ElementType.F16}) {
      MemorySegment halves = arena.allocate(65536 * 2, 2);
      for (int bits = 0; bits < 65536; bits++) {
        halves.setAtIndex(ValueLayout.JAVA_SHORT, bits, (short) bits);
      }
      MemorySegment floats = arena.allocate(65536 * 4, 4);
      MemorySegment back = arena.allocate(65536 * 2, 2);
      ops.cast(halves.address(), type, floats.address(), ElementType.F32, 65536);
      ops.cast(floats.address(), ElementType.F32, back.address(), type, 65536);
      for (int bits = 0; bits < 65536; bits++) {
        float value = floats.getAtIndex(ValueLayout.JAVA_FLOAT, bits);
        assertThat(Float.valueOf(value)).isEqualTo(Float.valueOf(valueOf(type, bits)));
        short result = back.getAtIndex(ValueLayout.JAVA_SHORT, bits);
        if (Float.isNaN(value)) {
          assertThat(valueOf(type, result & 0xffff)).isNaN();
        } else {
          assertThat(result).isEqualTo((short) bits);
        }
      }
    }
  }

  @Test
  void bfloat16RoundsToTheNearestTiesToEven() {
    Random random = new Random(7);
    for (int i = 0; i < 2_000_000; i++) {
      float value = Float.intBitsToFloat(random.nextInt());
      if (Float.isNaN(value)) {
        assertThat(HalfFloats.fromBfloat16(HalfFloats.toBfloat16(value))).isNaN();
        continue;
      }
      assertThat(HalfFloats.toBfloat16(value)).as("%h", Float.floatToRawIntBits(value))
          .isEqualTo(nearestBfloat16(value));
    }
    assertThat(HalfFloats.fromBfloat16(HalfFloats.toBfloat16(Float.MAX_VALUE))).isInfinite();
    assertThat(HalfFloats.toBfloat16(Float.intBitsToFloat(0x3f808000))).isEqualTo((short) 0x3f80);
    assertThat(HalfFloats.toBfloat16(Float.intBitsToFloat(0x3f818000))).isEqualTo((short) 0x3f82);
    assertThat(HalfFloats.toBfloat16(Float.intBitsToFloat(0x7f800001))).isEqualTo((short) 0x7fc0);
  }

  @Test
  void castsBetweenHalvesThroughFloat() {
    MemorySegment from = arena.allocate(5000 * 2, 2);
    MemorySegment to = arena.allocate(5000 * 2, 2);
    for (int i = 0; i < 5000; i++) {
      from.setAtIndex(ValueLayout.JAVA_SHORT, i, HalfFloats.toBfloat16(i * 0.37f - 700));
    }
    ops.cast(from.address(), ElementType.BF16, to.address(), ElementType.F16, 5000);
    for (int i = 0; i < 5000; i++) {
      float value = HalfFloats.fromBfloat16(from.getAtIndex(ValueLayout.JAVA_SHORT, i));
      assertThat(to.getAtIndex(ValueLayout.JAVA_SHORT, i)).isEqualTo(Float.floatToFloat16(value));
    }
    ops.cast(from.address(), ElementType.BF16, to.address(), ElementType.BF16, 5000);
    assertThat(to.mismatch(from)).isEqualTo(-1);
  }

  @ParameterizedTest
  @EnumSource(ElementType.class)
  void reducesAsANaiveLoopDoes(ElementType type) {
    Random random = new Random(type.name().hashCode());
    for (ReduceOp op : ReduceOp.values()) {
      for (int arrays : new int[] {1, 2, 5}) {
        for (int count : new int[] {0, 1, 2047, 2048, 5001}) {
          checkReduce(op, type, arrays, count, random);
        }
      }
    }
  }

  @Test
  void anAverageOfIntsDoesNotWrap() {
    MemorySegment ints = arena.allocateFrom(ValueLayout.JAVA_INT, Integer.MAX_VALUE, Integer.MIN_VALUE, -7);
    long[] twice = {ints.address(), ints.address()};
    MemorySegment result = arena.allocate(12, 4);
    ops.reduce(ReduceOp.AVG, ElementType.I32, twice, result.address(), 3);
    assertThat(result.toArray(ValueLayout.JAVA_INT)).containsExactly(Integer.MAX_VALUE, Integer.MIN_VALUE, -7);
    ops.reduce(ReduceOp.SUM, ElementType.I32, twice, result.address(), 3);
    assertThat(result.toArray(ValueLayout.JAVA_INT)).containsExactly(-2, 0, -14);
  }

  @Test
  void mistakesAreNamed() {
    long memory = arena.allocate(64).address();
    assertThatThrownBy(() -> ops.permute(memory, memory, new long[] {2, 2}, new int[] {0, 0}, 4)).hasMessageContaining(
        "axes: [0, 0] is no order");
    assertThatThrownBy(() -> ops.permute(memory, memory, new long[] {2, 2}, new int[] {0}, 4)).hasMessageContaining(
        "axes");
    assertThatThrownBy(() -> ops.permute(memory, memory, new long[] {2, -2}, new int[] {0, 1}, 4)).hasMessageContaining(
        "negative extent");
    assertThatThrownBy(() -> ops.permute(memory, memory, new long[] {2}, new int[] {0}, 0)).hasMessageContaining(
        "elementBytes");
    assertThatThrownBy(
        () -> ops.permute(memory, memory, new long[] {Long.MAX_VALUE, 2}, new int[] {0, 1}, 4)).hasMessageContaining(
            "2^63");
    assertThatThrownBy(() -> ops.cast(memory, ElementType.I32, memory, ElementType.F32, 1)).hasMessageContaining(
        "fromType");
    assertThatThrownBy(() -> ops.cast(memory, ElementType.F32, memory, ElementType.BF16, -1)).hasMessageContaining(
        "count");
    assertThatThrownBy(
        () -> ops.reduce(ReduceOp.SUM, ElementType.F32, new long[0], memory, 1)).hasMessageContaining("from");
    assertThatThrownBy(
        () -> ops.reduce(ReduceOp.SUM, ElementType.F32, new long[] {memory}, memory, -1)).hasMessageContaining("count");
    assertThatThrownBy(() -> ops.copy(-1, memory, 8)).hasMessageContaining("from");
    assertThatThrownBy(() -> ops.copy(memory, memory, -8)).hasMessageContaining("bytes");
  }

  private void checkReduce(ReduceOp op, ElementType type, int arrays, int count, Random random) {
    long[] from = new long[arrays];
    MemorySegment[] sources = new MemorySegment[arrays];
    for (int i = 0; i < arrays; i++) {
      sources[i] = arena.allocate((long) Math.max(1, count) * type.bytes(), 8);
      from[i] = sources[i].address();
      for (int k = 0; k < count; k++) {
        Numbers.set(sources[i], type, k, random);
      }
    }
    double[] expected = new double[count];
    for (int k = 0; k < count; k++) {
      expected[k] = Numbers.reduce(op, type, sources, k);
    }
    MemorySegment into = sources[arrays - 1];
    ops.reduce(op, type, from, into.address(), count);
    for (int k = 0; k < count; k++) {
      assertThat(Numbers.get(into, type, k)).as(op + " of " + arrays + " " + type + " at " + k).isEqualTo(expected[k]);
    }
  }

  private static float valueOf(ElementType type, int bits) {
    return type == ElementType.BF16 ? Float.intBitsToFloat(bits << 16) : Float.float16ToFloat((short) bits);
  }

  /** By trying both neighbours, in double precision. */
  private static short nearestBfloat16(float value) {
    int bits = Float.floatToRawIntBits(value);
    int below = bits >>> 16;
    if ((bits & 0xffff) == 0) {
      return (short) below;
    }
    int above = below + 1; // away from zero; the exponent carries, up to infinity
    double low = Float.intBitsToFloat(below << 16);
    double high =
        (above & 0x7fff) == 0x7f80 ? Math.copySign(Math.scalb(1.0, 128), value) : Float.intBitsToFloat(above << 16);
    double toLow = Math.abs(value - low);
    double toHigh = Math.abs(high - value);
    if (toLow == toHigh) {
      return (short) ((below & 1) == 0 ? below : above);
    }
    return (short) (toLow < toHigh ? below : above);
  }

  private static int originOf(int target, long[] shape, int[] axes) {
    int rank = shape.length;
    int[] position = new int[rank];
    int rest = target;
    for (int axis = rank - 1; axis >= 0; axis--) {
      int extent = (int) shape[axes[axis]];
      position[axes[axis]] = rest % extent;
      rest /= extent;
    }
    int origin = 0;
    for (int axis = 0; axis < rank; axis++) {
      origin = origin * (int) shape[axis] + position[axis];
    }
    return origin;
  }

  private MemorySegment filled(long bytes, long seed) {
    MemorySegment memory = arena.allocate(bytes);
    byte[] content = new byte[(int) bytes];
    new Random(seed).nextBytes(content);
    MemorySegment.copy(content, 0, memory, ValueLayout.JAVA_BYTE, 0, content.length);
    return memory;
  }
}
