/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An immutable list of blocks of one device's memory: what a transfer reads or writes. Blocks have an index, an address
 * and a length; they may repeat, overlap, and be empty.
 *
 * <p>Kept as runs (base, stride, length, count; several axes): 24 layers × 64 heads × 1024 pages are one run, whatever
 * their number. A list made of single blocks is compressed on the way in.
 *
 * <p>Addresses are numbers: a list may describe memory of another process. Nothing here checks that it is registered.
 * Thread-safe.
 */
public final class BlockList {
  private static final int MAX_AXES = 8;
  private static final int TRIPLE = 3;

  private final Device device;
  private final Runs runs;
  private final long totalBytes;

  private BlockList(Device device, Runs runs) {
    this.device = device;
    this.runs = runs;
    this.totalBytes = total(runs);
  }

  // ------------------------------------------------------------------------------------------------ making

  /** One block of host memory. */
  public static BlockList of(long address, long length) {
    return of(address, length, Device.HOST);
  }

  /**
   * One block.
   *
   * @throws InvalidBlocksException if a number is negative or the end overflows
   */
  public static BlockList of(long address, long length, Device device) {
    return strided(address, 0, length, 1, device);
  }

  /** Blocks at one distance in host memory. */
  public static BlockList strided(long base, long stride, long length, long count) {
    return strided(base, stride, length, count, Device.HOST);
  }

  /**
   * Blocks at one distance.
   *
   * @param base address of the first
   * @param stride bytes from one to the next; may be 0 or negative
   * @param length bytes of each
   * @param count how many, at most 2³¹ − 1
   * @throws InvalidBlocksException if one would be outside the address space
   */
  public static BlockList strided(long base, long stride, long length, long count, Device device) {
    if (count < 0 || count > Integer.MAX_VALUE) {
      throw new InvalidBlocksException(
          "count", InvalidBlocksException.NO_INDEX, count + " blocks; a list has 0 to 2147483647");
    }
    return strided(base, new long[] {count}, new long[] {stride}, length, device);
  }

  /** A grid of blocks in host memory. */
  public static BlockList strided(long base, long[] shape, long[] strides, long length) {
    return strided(base, shape, strides, length, Device.HOST);
  }

  /**
   * A grid of blocks, the last axis fastest. It takes the same memory however many blocks it has.
   *
   * @param base address of the first block
   * @param shape extents, at most 8; an extent of 0 makes the list empty
   * @param strides bytes from one block to the next along each axis; may be 0 or negative
   * @param length bytes of each block
   * @throws InvalidBlocksException if the arrays have different lengths, an extent is negative, there are 2³¹ blocks or
   *     more, or one would be outside the address space
   */
  public static BlockList strided(long base, long[] shape, long[] strides, long length, Device device) {
    Objects.requireNonNull(device, "device");
    if (shape.length != strides.length || shape.length > MAX_AXES) {
      throw new InvalidBlocksException(
          "strides",
          InvalidBlocksException.NO_INDEX,
          strides.length + " strides for " + shape.length + " extents; give one for each, and at most " + MAX_AXES);
    }
    checkBlock("base", "length", InvalidBlocksException.NO_INDEX, base, length);
    long count = 1;
    for (int axis = 0; axis < shape.length; axis++) {
      if (shape[axis] < 0) {
        throw new InvalidBlocksException("shape", axis, "an extent of " + shape[axis] + " is negative");
      }
      if (shape[axis] > Integer.MAX_VALUE) {
        throw new InvalidBlocksException("shape", axis, "an extent of " + shape[axis] + " is 2^31 or more");
      }
    }
    for (long extent : shape) {
      if (extent == 0) {
        return new BlockList(device, Runs.NONE);
      }
    }
    for (long extent : shape) {
      count *= extent; // below 2^62
      if (count > Integer.MAX_VALUE) {
        throw new InvalidBlocksException(
            "shape", InvalidBlocksException.NO_INDEX, Arrays.toString(shape) + " are 2^31 blocks or more");
      }
    }
    checkReach(base, shape, strides, length);
    return new BlockList(device, grid(base, shape, strides, length, (int) count));
  }

  /**
   * Blocks from rows of address, length and device number: the N×3 array of 64-bit integers that Python callers have.
   *
   * @param triples row after row
   * @param kind of the device; its number is that of the first row, and all rows must have it. For the host the number
   *     means nothing and is ignored
   * @throws InvalidBlocksException if the array is no rows of three, or a row is wrong; it names the row
   */
  public static BlockList fromTriples(long[] triples, DeviceKind kind) {
    return fromTriples(MemorySegment.ofArray(triples), kind);
  }

  /** As {@link #fromTriples(long[], DeviceKind)}, from native-endian 64-bit integers in memory. */
  public static BlockList fromTriples(MemorySegment triples, DeviceKind kind) {
    long longs = triples.byteSize() / Long.BYTES;
    if (triples.byteSize() % Long.BYTES != 0 || longs % TRIPLE != 0) {
      throw new InvalidBlocksException(
          "triples",
          InvalidBlocksException.NO_INDEX,
          triples.byteSize() + " bytes are no rows of address, length and device of 8 bytes each");
    }
    if (longs / TRIPLE > Integer.MAX_VALUE) {
      throw new InvalidBlocksException(
          "triples", InvalidBlocksException.NO_INDEX, longs / TRIPLE + " rows; a list has at most 2147483647");
    }
    return TripleReader.read(triples, kind);
  }

  /** All blocks of the lists, one list after the other. */
  public static BlockList concat(BlockList... lists) {
    return concat(List.of(lists));
  }

  /**
   * All blocks of the lists, one list after the other.
   *
   * @throws InvalidBlocksException if they are of different devices, or are 2³¹ blocks or more
   */
  public static BlockList concat(List<BlockList> lists) {
    if (lists.isEmpty()) {
      return new BlockList(Device.HOST, Runs.NONE);
    }
    Device device = lists.getFirst().device;
    int axes = 1;
    int size = 0;
    long count = 0;
    for (int i = 0; i < lists.size(); i++) {
      BlockList list = lists.get(i);
      if (!list.device.equals(device)) {
        throw new InvalidBlocksException(
            "lists", i, "it is of " + list.device + ", the first of " + device + "; use one list for each device");
      }
      axes = Math.max(axes, list.runs.axes());
      size += list.runs.size();
      count += list.count();
    }
    if (count > Integer.MAX_VALUE) {
      throw new InvalidBlocksException(
          "lists", InvalidBlocksException.NO_INDEX, count + " blocks; a list has at most 2147483647");
    }
    Runs joined =
        new Runs(axes, new long[size], new long[size], new int[size * axes], new long[size * axes], new int[size + 1]);
    int at = 0;
    for (BlockList list : lists) {
      Runs from = list.runs.padded(axes);
      System.arraycopy(from.base(), 0, joined.base(), at, from.size());
      System.arraycopy(from.length(), 0, joined.length(), at, from.size());
      System.arraycopy(from.shape(), 0, joined.shape(), at * axes, from.size() * axes);
      System.arraycopy(from.stride(), 0, joined.stride(), at * axes, from.size() * axes);
      for (int run = 0; run < from.size(); run++) {
        joined.first()[at + run + 1] = joined.first()[at + run] + from.countOf(run);
      }
      at += from.size();
    }
    return new BlockList(device, joined);
  }

  /** A builder for blocks of the host's memory. */
  public static Builder builder() {
    return builder(Device.HOST);
  }

  /** A builder for blocks of a device's memory. */
  public static Builder builder(Device device) {
    return new Builder(device);
  }

  /** Collects blocks one by one, compressing them as they come. Not thread-safe. */
  public static final class Builder {
    private final Device device;
    private @Nullable RunCompressor compressor = new RunCompressor();

    private Builder(Device device) {
      this.device = Objects.requireNonNull(device, "device");
    }

    /**
     * Adds a block.
     *
     * @throws InvalidBlocksException if a number is negative or the end overflows; the index is the block's
     */
    public Builder add(long address, long length) {
      RunCompressor open = open();
      checkBlock("address", "length", open.blocks(), address, length);
      open.add(address, length);
      return this;
    }

    /**
     * Adds blocks at one distance, in time that does not depend on their number.
     *
     * @param stride bytes from one to the next; may be 0 or negative
     * @param count how many, not negative
     * @throws InvalidBlocksException if one would be outside the address space
     */
    public Builder addStrided(long base, long stride, long length, int count) {
      RunCompressor open = open();
      if (count < 0) {
        throw new InvalidBlocksException("count", open.blocks(), count + " blocks is negative");
      }
      checkBlock("base", "length", open.blocks(), base, length);
      checkReach(base, new long[] {Math.max(1, count)}, new long[] {stride}, length);
      open.addRun(base, stride, length, count);
      return this;
    }

    /** The list; the builder cannot be used afterwards. */
    public BlockList build() {
      RunCompressor open = open();
      if (open.blocks() > Integer.MAX_VALUE) {
        throw new InvalidBlocksException(
            "count", InvalidBlocksException.NO_INDEX, open.blocks() + " blocks; a list has at most 2147483647");
      }
      compressor = null;
      return new BlockList(device, open.finish());
    }

    private RunCompressor open() {
      if (compressor == null) {
        throw new IllegalStateException("this builder has built its list; use another");
      }
      return compressor;
    }
  }

  /** Where memory is that had other addresses elsewhere. */
  @FunctionalInterface
  public interface Relocation {
    /**
     * What to add to the addresses of {@code length} bytes at {@code address}, which one run of blocks covers.
     *
     * @param firstIndex the index of its first block
     */
    long delta(int firstIndex, long address, long length);
  }

  /** The same blocks where their memory is on another device, or in another process; empty blocks stay where they are. */
  public BlockList moved(Device to, Relocation relocation) {
    long[] base = new long[runs.size()];
    for (int run = 0; run < base.length; run++) {
      long lowest = runs.lowest(run);
      long delta = runs.length()[run] == 0 ? 0 : relocation.delta(runs.first()[run], lowest, runs.end(run) - lowest);
      base[run] = runs.base()[run] + delta;
    }
    return new BlockList(to,
        new Runs(runs.axes(), base, runs.length(), runs.shape(), runs.stride(), runs.first()));
  }

  // ------------------------------------------------------------------------------------------------ reading

  /** Where the memory is. */
  public Device device() {
    return device;
  }

  /** How many blocks. */
  public int count() {
    return runs.count();
  }

  /** The bytes of all blocks together. */
  public long totalBytes() {
    return totalBytes;
  }

  /**
   * The address of block {@code index}.
   *
   * @throws InvalidBlocksException if there is no such block
   */
  public long address(int index) {
    checkIndex(index);
    int run = runs.runOf(index);
    return runs.address(run, index - runs.first()[run]);
  }

  /**
   * The length of block {@code index} in bytes.
   *
   * @throws InvalidBlocksException if there is no such block
   */
  public long length(int index) {
    checkIndex(index);
    return runs.length()[runs.runOf(index)];
  }

  /** How many runs it is kept as: its memory is proportional to this. */
  public int runCount() {
    return runs.size();
  }

  /** The runs, in order: for checking bounds once per run instead of once per block. */
  public List<Run> runs() {
    Run[] all = new Run[runs.size()];
    for (int run = 0; run < all.length; run++) {
      all[run] =
          new Run(
              runs.first()[run],
              runs.countOf(run),
              runs.length()[run],
              runs.lowest(run),
              runs.end(run) - runs.lowest(run));
    }
    return List.of(all);
  }

  /**
   * What one run covers.
   *
   * @param firstIndex the index of its first block
   * @param count its blocks
   * @param blockBytes the length of each
   * @param address the lowest address of any
   * @param extent bytes from there to the end of the highest; there may be gaps between
   */
  public record Run(int firstIndex, int count, long blockBytes, long address, long extent) {}

  /** Calls {@code visitor} with each block, in order. */
  public void forEach(BlockVisitor visitor) {
    RunWalker walker = new RunWalker(runs);
    int index = 0;
    while (walker.next()) {
      visitor.visit(index, walker.address(), walker.length());
      index++;
    }
  }

  /** Sees blocks. */
  @FunctionalInterface
  public interface BlockVisitor {
    /** Sees block {@code index}: {@code length} bytes at {@code address}. */
    void visit(int index, long address, long length);
  }

  /** Whether both are of one device and have the same blocks in the same order, however they were made. */
  @Override
  public boolean equals(@Nullable Object other) {
    if (!(other instanceof BlockList list)
        || !device.equals(list.device)
        || count() != list.count()
        || totalBytes != list.totalBytes) {
      return false;
    }
    if (runs.equals(list.runs)) {
      return true;
    }
    RunWalker mine = new RunWalker(runs);
    RunWalker theirs = new RunWalker(list.runs);
    while (mine.next() && theirs.next()) {
      if (mine.address() != theirs.address() || mine.length() != theirs.length()) {
        return false;
      }
    }
    return true;
  }

  @Override
  public int hashCode() {
    int last = count() - 1;
    return last < 0
        ? device.hashCode()
        : Objects.hash(device, last, totalBytes, address(0), address(last / 2), address(last));
  }

  @Override
  public String toString() {
    return count() + " blocks, " + totalBytes + " bytes, " + device + ", " + runCount() + " runs";
  }

  Runs asRuns() {
    return runs;
  }

  static BlockList of(Device device, Runs runs) {
    return new BlockList(device, runs);
  }

  // ------------------------------------------------------------------------------------------------ checks

  static void checkBlock(String addressName, String lengthName, long index, long address, long length) {
    if ((address | length | (address + length)) >= 0) {
      return;
    }
    if (address < 0) {
      throw new InvalidBlocksException(
          addressName, index, Ranges.hex(address) + " is no address of a user process: those are below 2^63");
    }
    if (length < 0) {
      throw new InvalidBlocksException(lengthName, index, length + " bytes is negative");
    }
    throw new InvalidBlocksException(
        lengthName, index, length + " bytes at " + Ranges.hex(address) + " reach beyond the end of the address space");
  }

  private void checkIndex(int index) {
    if (index < 0 || index >= count()) {
      throw new InvalidBlocksException(
          "index", InvalidBlocksException.NO_INDEX, index + " is out of bounds; the list has " + count() + " blocks");
    }
  }

  private static void checkReach(long base, long[] shape, long[] strides, long length) {
    try {
      long low = base;
      long high = Math.addExact(base, length);
      for (int axis = 0; axis < shape.length; axis++) {
        long reach = Math.multiplyExact(shape[axis] - 1, strides[axis]);
        low = Math.addExact(low, Math.min(0, reach));
        high = Math.addExact(high, Math.max(0, reach));
      }
      if (low >= 0) {
        return;
      }
    } catch (ArithmeticException e) {
      throw outside(base, shape, strides, length, e);
    }
    throw outside(base, shape, strides, length, null);
  }

  private static InvalidBlocksException outside(
      long base, long[] shape, long[] strides, long length, @Nullable ArithmeticException cause) {
    InvalidBlocksException outside =
        new InvalidBlocksException(
            "strides",
            InvalidBlocksException.NO_INDEX,
            Arrays.toString(shape) + " blocks of " + length + " bytes at strides " + Arrays.toString(strides) + " from "
                + Ranges.hex(base) + " leave the address space");
    if (cause != null) {
      outside.initCause(cause);
    }
    return outside;
  }

  /** A run of the fewest axes that describe the grid. */
  private static Runs grid(long base, long[] shape, long[] strides, long length, int count) {
    int[] extents = new int[MAX_AXES];
    long[] distances = new long[MAX_AXES];
    int axes = 0;
    for (int axis = 0; axis < shape.length; axis++) {
      int extent = (int) shape[axis];
      if (extent == 1) {
        continue;
      }
      if (axes > 0 && distances[axes - 1] == extent * strides[axis]) {
        extents[axes - 1] *= extent; // the axis before goes on where this one ends: they are one
        distances[axes - 1] = strides[axis];
      } else {
        extents[axes] = extent;
        distances[axes] = strides[axis];
        axes++;
      }
    }
    if (axes == 0) {
      extents[0] = 1;
      axes = 1;
    }
    return new Runs(
        axes,
        new long[] {base},
        new long[] {length},
        Arrays.copyOf(extents, axes),
        Arrays.copyOf(distances, axes),
        new int[] {0, count});
  }

  private static long total(Runs runs) {
    long total = 0;
    for (int run = 0; run < runs.size(); run++) {
      try {
        total = Math.addExact(total, Math.multiplyExact(runs.length()[run], (long) runs.countOf(run)));
      } catch (ArithmeticException e) {
        InvalidBlocksException tooLong =
            new InvalidBlocksException(
                "length", runs.first()[run], "the blocks up to here have 2^63 bytes or more; use several lists");
        tooLong.initCause(e);
        throw tooLong;
      }
    }
    return total;
  }

  /** Compresses rows of three. */
  private static final class TripleReader {
    private static final int ROWS = 1024;

    private TripleReader() {}

    static BlockList read(MemorySegment triples, DeviceKind kind) {
      long rows = triples.byteSize() / (TRIPLE * Long.BYTES);
      RunCompressor compressor = new RunCompressor();
      // Through a small array: one loop over one kind of memory, wherever the rows are.
      long[] rowBuffer = new long[(int) Math.min(rows, ROWS) * TRIPLE];
      long ordinal = rows == 0 || kind == DeviceKind.HOST ? 0 : triples.get(ValueLayout.JAVA_LONG_UNALIGNED, 16);
      if (ordinal < 0 || ordinal > 0xffff) {
        throw new InvalidBlocksException("triples", 0, ordinal + " is no number of a " + kind.word() + " device");
      }
      for (long row = 0; row < rows; row += ROWS) {
        int part = (int) Math.min(ROWS, rows - row);
        MemorySegment.copy(
            triples, ValueLayout.JAVA_LONG_UNALIGNED, row * TRIPLE * Long.BYTES, rowBuffer, 0, part * TRIPLE);
        compress(compressor, rowBuffer, part, row, kind, ordinal);
      }
      return new BlockList(new Device(kind, (int) ordinal), compressor.finish());
    }

    private static void compress(
        RunCompressor compressor, long[] rows, int count, long firstRow, DeviceKind kind, long ordinal) {
      for (int i = 0; i < count; i++) {
        long address = rows[i * TRIPLE];
        long length = rows[i * TRIPLE + 1];
        long device = rows[i * TRIPLE + 2];
        if ((address | length | (address + length)) < 0) {
          checkBlock("triples", "triples", firstRow + i, address, length);
        }
        if (device != ordinal && kind != DeviceKind.HOST) {
          throw new InvalidBlocksException(
              "triples",
              firstRow + i,
              "it is of device " + device + ", the first of " + ordinal + "; use one list for each device");
        }
        compressor.add(address, length);
      }
    }
  }
}
