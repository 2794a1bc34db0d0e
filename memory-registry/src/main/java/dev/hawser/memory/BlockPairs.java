/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Which local bytes go with which remote bytes: two block lists, or what index arrays pick from them, pair by pair. It is
 * a plan for copying, in either direction.
 *
 * <p>The bytes of all pairs, in order, have positions from 0 to {@link #totalBytes()}. Pairs that continue each other on
 * both sides are joined into pieces (but not across the border of two grids); empty pairs vanish. Grids that match stay
 * grids, so that their plan takes the same memory however many blocks there are; shuffled blocks become flat arrays.
 *
 * <p>Immutable and thread-safe. A {@link Cursor} belongs to one thread at a time, and allocates nothing.
 */
public final class BlockPairs {
  private static final int LARGE_GRID = 256;

  private final BlockList local;
  private final BlockList remote;
  private final int @Nullable [] localIndices;
  private final int pairCount;
  private final PairRuns runs;

  private BlockPairs(
      BlockList local, BlockList remote, int @Nullable [] localIndices, int pairCount, PairRuns runs) {
    this.local = local;
    this.remote = remote;
    this.localIndices = localIndices;
    this.pairCount = pairCount;
    this.runs = runs;
  }

  /**
   * Pairs block i of one list with block i of the other.
   *
   * @throws InvalidBlocksException if the lists have different counts, or a pair different lengths
   */
  public static BlockPairs of(BlockList local, BlockList remote) {
    return of(local, null, remote, null);
  }

  /**
   * Pairs the blocks that the index arrays pick, in their order.
   *
   * @param localIndices of blocks in {@code local}, or null for all in order; may repeat
   * @param remoteIndices of blocks in {@code remote}, or null for all in order; may repeat
   * @throws InvalidBlocksException if an index is out of bounds (it names the side and the place), the sides have different
   *     counts, or a pair different lengths
   */
  public static BlockPairs of(
      BlockList local, int @Nullable [] localIndices, BlockList remote, int @Nullable [] remoteIndices) {
    int localCount = localIndices == null ? local.count() : localIndices.length;
    int remoteCount = remoteIndices == null ? remote.count() : remoteIndices.length;
    if (localCount != remoteCount) {
      throw new InvalidBlocksException(
          remoteIndices == null ? "remote" : "remoteIndices",
          InvalidBlocksException.NO_INDEX,
          remoteCount + " blocks for " + localCount + " local ones; give as many on each side");
    }
    int[] localCopy = localIndices == null ? null : localIndices.clone();
    PairRuns runs =
        localCopy == null && remoteIndices == null
            ? pairLists(local.asRuns(), remote.asRuns())
            : pairIndexed(local, localCopy, remote, remoteIndices, localCount);
    return new BlockPairs(local, remote, localCopy, localCount, runs);
  }

  /** Pairs the blocks of {@code blocks}, as the local side, with contiguous bytes of the same device at {@code packed}. */
  public static BlockPairs packed(BlockList blocks, long packed) {
    BlockList whole = BlockList.of(packed, blocks.totalBytes(), blocks.device());
    Runs from = blocks.asRuns();
    if (from.size() == 1) {
      PairRuns grid = new GridPairing(from, packedLike(from, packed)).pair();
      return new BlockPairs(blocks, whole, null, blocks.count(), grid);
    }
    PairCompressor compressor = new PairCompressor(blocks.count());
    RunWalker walker = new RunWalker(from);
    long at = packed;
    while (walker.next()) {
      int row = walker.rowLeft();
      long bytes = walker.length();
      compressor.addRun(walker.address(), walker.stride(), at, bytes, bytes, row);
      at += bytes * row;
      walker.skip(row - 1);
    }
    return new BlockPairs(blocks, whole, null, blocks.count(), compressor.finish());
  }

  /** The device of the local side. */
  public Device localDevice() {
    return local.device();
  }

  /** The device of the remote side, as its owner numbers it. */
  public Device remoteDevice() {
    return remote.device();
  }

  /** How many pairs of blocks were given, empty ones included. */
  public int pairCount() {
    return pairCount;
  }

  /** How many pieces there are: contiguous on both sides, none of them empty. */
  public int size() {
    return runs.pieces();
  }

  /** How many runs it is kept as: its memory is proportional to this, and to the index arrays if there are any. */
  public int runCount() {
    return runs.size();
  }

  /** The bytes of all pairs together. */
  public long totalBytes() {
    return runs.totalBytes();
  }

  /** A cursor at the first byte. */
  public Cursor cursor() {
    return new Cursor(this);
  }

  /**
   * Which pair the byte at {@code position} belongs to, as an index into the lists, or index arrays, that were given. For
   * error messages: it takes time proportional to the number of pairs.
   *
   * @throws InvalidBlocksException if there is no such byte
   */
  public int pairAt(long position) {
    if (position < 0 || position >= totalBytes()) {
      throw outside(position);
    }
    int[] indices = localIndices;
    RunWalker walker = new RunWalker(local.asRuns());
    long end = 0;
    for (int pair = 0; pair < pairCount; pair++) {
      if (indices == null) {
        walker.next();
        end += walker.length();
      } else {
        end += local.length(indices[pair]);
      }
      if (position < end) {
        return pair;
      }
    }
    throw new IllegalStateException("position " + position + " is in no pair of " + this);
  }

  @Override
  public String toString() {
    return pairCount + " pairs, " + totalBytes() + " bytes, " + size() + " pieces, " + runCount() + " runs";
  }

  private InvalidBlocksException outside(long position) {
    return new InvalidBlocksException(
        "position",
        InvalidBlocksException.NO_INDEX,
        position + " is out of bounds; the pairs have " + totalBytes() + " bytes");
  }

  // ------------------------------------------------------------------------------------------------ pairing

  private static PairRuns pairLists(Runs local, Runs remote) {
    boolean sameGrids =
        local.axes() == remote.axes()
            && Arrays.equals(local.shape(), remote.shape())
            && Arrays.equals(local.first(), remote.first());
    if (sameGrids && local.size() > 0 && (local.size() == 1 || local.count() / local.size() >= LARGE_GRID)) {
      return new GridPairing(local, remote).pair();
    }
    PairCompressor compressor = new PairCompressor(local.count());
    RunWalker left = new RunWalker(local);
    RunWalker right = new RunWalker(remote);
    int pair = 0;
    while (left.next() && right.next()) {
      if (left.length() != right.length()) {
        throw unequal(pair, left.length(), right.length());
      }
      int row = Math.min(left.rowLeft(), right.rowLeft());
      compressor.addRun(left.address(), left.stride(), right.address(), right.stride(), left.length(), row);
      left.skip(row - 1);
      right.skip(row - 1);
      pair += row;
    }
    return compressor.finish();
  }

  /** Reads each index once, for its owner may change it. */
  private static PairRuns pairIndexed(
      BlockList local, int @Nullable [] localIndices, BlockList remote, int @Nullable [] remoteIndices, int count) {
    Runs left = local.asRuns();
    Runs right = remote.asRuns();
    if (left.isRow() && right.isRow()) {
      return pairRows(left, localIndices, right, remoteIndices, count);
    }
    int leftCount = left.count();
    int rightCount = right.count();
    PairCompressor compressor = new PairCompressor(count);
    long total = 0;
    for (int pair = 0; pair < count; pair++) {
      int i = localIndices == null ? pair : localIndices[pair];
      int j = remoteIndices == null ? pair : remoteIndices[pair];
      if (i < 0 || i >= leftCount) {
        throw outOfBounds("localIndices", pair, i, leftCount);
      }
      if (j < 0 || j >= rightCount) {
        throw outOfBounds("remoteIndices", pair, j, rightCount);
      }
      int leftRun = left.runOf(i);
      int rightRun = right.runOf(j);
      long bytes = left.length()[leftRun];
      if (bytes != right.length()[rightRun]) {
        throw unequal(pair, bytes, right.length()[rightRun]);
      }
      total += bytes;
      if (total < 0) {
        throw tooManyBytes(pair);
      }
      compressor.add(
          left.address(leftRun, i - left.first()[leftRun]), right.address(rightRun, j - right.first()[rightRun]),
          bytes);
    }
    return compressor.finish();
  }

  /** As {@link #pairIndexed}, where both sides are blocks of one length at one distance: the usual case, and a fast one. */
  private static PairRuns pairRows(
      Runs left, int @Nullable [] localIndices, Runs right, int @Nullable [] remoteIndices, int count) {
    int leftCount = left.count();
    int rightCount = right.count();
    long leftBase = left.base()[0];
    long rightBase = right.base()[0];
    long leftStride = left.stride()[0];
    long rightStride = right.stride()[0];
    long bytes = left.length()[0];
    boolean sameLength = bytes == right.length()[0];
    long total = 0;
    PairCompressor compressor = new PairCompressor(count);
    for (int pair = 0; pair < count; pair++) {
      int i = localIndices == null ? pair : localIndices[pair];
      int j = remoteIndices == null ? pair : remoteIndices[pair];
      if (i < 0 || i >= leftCount) {
        throw outOfBounds("localIndices", pair, i, leftCount);
      }
      if (j < 0 || j >= rightCount) {
        throw outOfBounds("remoteIndices", pair, j, rightCount);
      }
      if (!sameLength) {
        throw unequal(pair, bytes, right.length()[0]);
      }
      total += bytes;
      if (total < 0) {
        throw tooManyBytes(pair);
      }
      compressor.add(leftBase + i * leftStride, rightBase + j * rightStride, bytes);
    }
    return compressor.finish();
  }

  private static InvalidBlocksException tooManyBytes(int pair) {
    return new InvalidBlocksException(
        "localIndices", pair, "the pairs up to here have 2^63 bytes or more; use several transfers");
  }

  private static Runs packedLike(Runs run, long packed) {
    long[] strides = new long[run.axes()];
    long distance = run.length()[0];
    for (int axis = run.axes() - 1; axis >= 0; axis--) {
      strides[axis] = distance;
      distance *= run.shape()[axis];
    }
    return new Runs(run.axes(), new long[] {packed}, run.length(), run.shape(), strides, run.first());
  }

  private static InvalidBlocksException outOfBounds(String side, int pair, int index, int count) {
    return new InvalidBlocksException(side, pair, index + " is out of bounds; the list has " + count + " blocks");
  }

  private static InvalidBlocksException unequal(int pair, long localBytes, long remoteBytes) {
    return new InvalidBlocksException(
        "pair",
        pair,
        "its local block has " + localBytes + " bytes, its remote one " + remoteBytes
            + "; give blocks of the same length");
  }

  /** Pairs grids of the same shapes, run by run, without looking at single blocks. */
  private static final class GridPairing {
    private final Runs local;
    private final Runs remote;
    private final int[] shape;
    private final long[] localStride;
    private final long[] remoteStride;

    GridPairing(Runs local, Runs remote) {
      this.local = local;
      this.remote = remote;
      this.shape = local.shape().clone();
      this.localStride = local.stride().clone();
      this.remoteStride = remote.stride().clone();
    }

    PairRuns pair() {
      int axes = local.axes();
      long[] localBase = new long[local.size()];
      long[] remoteBase = new long[local.size()];
      long[] length = new long[local.size()];
      long[] firstByte = new long[local.size() + 1];
      int kept = 0;
      int pieces = 0;
      for (int run = 0; run < local.size(); run++) {
        long bytes = local.length()[run];
        if (bytes != remote.length()[run]) {
          throw unequal(local.first()[run], bytes, remote.length()[run]);
        }
        if (bytes == 0) {
          continue;
        }
        localBase[kept] = local.base()[run];
        remoteBase[kept] = remote.base()[run];
        System.arraycopy(shape, run * axes, shape, kept * axes, axes);
        System.arraycopy(localStride, run * axes, localStride, kept * axes, axes);
        System.arraycopy(remoteStride, run * axes, remoteStride, kept * axes, axes);
        length[kept] = join(kept * axes, bytes);
        firstByte[kept + 1] = firstByte[kept] + bytes * local.countOf(run);
        pieces += (int) (bytes * local.countOf(run) / length[kept]);
        kept++;
      }
      return new PairRuns(
          kept,
          axes,
          Arrays.copyOf(localBase, kept),
          Arrays.copyOf(remoteBase, kept),
          Arrays.copyOf(length, kept),
          Arrays.copyOf(shape, kept * axes),
          Arrays.copyOf(localStride, kept * axes),
          Arrays.copyOf(remoteStride, kept * axes),
          Arrays.copyOf(firstByte, kept + 1),
          pieces);
    }

    /** Joins the blocks of the innermost axes that are contiguous on both sides; gives the length of a piece. */
    private long join(int origin, long bytes) {
      int axes = local.axes();
      long piece = bytes;
      while (isContiguous(origin + axes - 1, piece)) {
        piece *= shape[origin + axes - 1];
        // the other axes move inwards, so that the innermost stays the one to walk along
        System.arraycopy(shape, origin, shape, origin + 1, axes - 1);
        System.arraycopy(localStride, origin, localStride, origin + 1, axes - 1);
        System.arraycopy(remoteStride, origin, remoteStride, origin + 1, axes - 1);
        shape[origin] = 1;
        localStride[origin] = 0;
        remoteStride[origin] = 0;
      }
      return piece;
    }

    private boolean isContiguous(int axis, long piece) {
      return shape[axis] > 1 && localStride[axis] == piece && remoteStride[axis] == piece;
    }
  }

  // ------------------------------------------------------------------------------------------------ walking

  /**
   * Walks over the pieces, from any position, cutting them where it is told to. Allocates nothing after its creation, and
   * can go from one {@link BlockPairs} to another. For one thread at a time.
   */
  public static final class Cursor {
    private PairRuns runs;
    private BlockPairs pairs;
    private int[] at;
    private int run;
    private int rowLeft; // pieces of the innermost axis after this one
    private int rowPieces;
    private long localStride;
    private long remoteStride;
    private long pieceLocal;
    private long pieceRemote;
    private long pieceLength;
    private long offset; // of the next byte in the piece
    private long position;
    private long localAddress;
    private long remoteAddress;
    private long length;

    /** A cursor at the first byte of {@code pairs}. */
    public Cursor(BlockPairs pairs) {
      this.pairs = pairs;
      this.runs = pairs.runs;
      this.at = new int[Math.max(4, runs.axes())];
      seek(0);
    }

    /** The pairs that it walks over. */
    public BlockPairs pairs() {
      return pairs;
    }

    /** Moves to the first byte of other pairs. Allocates only for more axes than any before. */
    public Cursor reset(BlockPairs other) {
      pairs = other;
      runs = other.runs;
      if (at.length < runs.axes()) {
        at = new int[runs.axes()];
      }
      seek(0);
      return this;
    }

    /**
     * Moves to a byte.
     *
     * @param to its position; {@link BlockPairs#totalBytes()} is the end
     * @throws InvalidBlocksException if there is no such byte
     */
    public void seek(long to) {
      if (to < 0 || to > runs.totalBytes()) {
        throw pairs.outside(to);
      }
      position = to;
      length = 0;
      if (to == runs.totalBytes()) {
        return;
      }
      run = runs.runOf(to);
      int axes = runs.axes();
      int origin = run * axes;
      pieceLength = runs.length()[run];
      pieceLocal = runs.local()[run];
      pieceRemote = runs.remote()[run];
      long rest = to - runs.firstByte()[run];
      long piece = rest / pieceLength;
      offset = rest - piece * pieceLength;
      for (int axis = axes - 1; axis >= 0; axis--) {
        int extent = runs.shape()[origin + axis];
        long outer = piece / extent;
        at[axis] = (int) (piece - outer * extent);
        pieceLocal += at[axis] * runs.localStride()[origin + axis];
        pieceRemote += at[axis] * runs.remoteStride()[origin + axis];
        piece = outer;
      }
      enterRow(origin + axes - 1, at[axes - 1]);
    }

    /**
     * Moves over the next bytes that are contiguous on both sides, at most {@code maxBytes} of them.
     *
     * @return false at the end of the pairs; otherwise the bytes are described by {@link #localAddress()}, {@link
     *     #remoteAddress()} and {@link #length()}
     * @throws InvalidBlocksException if {@code maxBytes} is not positive
     */
    public boolean next(long maxBytes) {
      if (maxBytes <= 0) {
        throw new InvalidBlocksException(
            "maxBytes", InvalidBlocksException.NO_INDEX, maxBytes + " bytes would never get on; ask for at least 1");
      }
      if (position == runs.totalBytes()) {
        length = 0;
        return false;
      }
      if (offset == pieceLength) {
        nextPiece();
      }
      localAddress = pieceLocal + offset;
      remoteAddress = pieceRemote + offset;
      length = Math.min(maxBytes, pieceLength - offset);
      offset += length;
      position += length;
      return true;
    }

    /**
     * Moves over the next bytes as {@link #next} does, and over whole pieces that follow them at even distances: a row of
     * {@link #pieces()}, each of {@link #length()} bytes, the first at {@link #localAddress()} and {@link #remoteAddress()}.
     * At most {@code maxBytes} in all.
     *
     * @return false at the end of the pairs
     * @throws InvalidBlocksException if {@code maxBytes} is not positive
     */
    public boolean nextRow(long maxBytes) {
      if (!next(maxBytes)) {
        rowPieces = 0;
        return false;
      }
      rowPieces = 1;
      if (rowLeft > 0 && length == pieceLength) {
        int more = (int) Math.min(rowLeft, (maxBytes - length) / pieceLength);
        rowPieces += more;
        rowLeft -= more;
        pieceLocal += more * localStride;
        pieceRemote += more * remoteStride;
        position += more * pieceLength;
      }
      return true;
    }

    /** How many pieces {@link #nextRow} moved over. */
    public int pieces() {
      return rowPieces;
    }

    /** Bytes from one piece of the row to the next on the local side. */
    public long localStride() {
      return localStride;
    }

    /** Bytes from one piece of the row to the next on the remote side. */
    public long remoteStride() {
      return remoteStride;
    }

    /** The position of the byte behind those that {@link #next} moved over. */
    public long position() {
      return position;
    }

    /** Bytes from there to the end. */
    public long remaining() {
      return runs.totalBytes() - position;
    }

    /** Where the bytes are on the local side. */
    public long localAddress() {
      return localAddress;
    }

    /** Where the bytes are on the remote side. */
    public long remoteAddress() {
      return remoteAddress;
    }

    /** How many bytes; 0 before the first {@link #next}, and at the end. */
    public long length() {
      return length;
    }

    private void nextPiece() {
      offset = 0;
      if (rowLeft > 0) {
        rowLeft--;
        pieceLocal += localStride;
        pieceRemote += remoteStride;
      } else {
        nextRow();
      }
    }

    private void nextRow() {
      int axes = runs.axes();
      int origin = run * axes;
      int inner = origin + axes - 1;
      long steps = runs.shape()[inner] - 1L;
      long rowLocal = pieceLocal - steps * localStride;
      long rowRemote = pieceRemote - steps * remoteStride;
      for (int axis = axes - 2; axis >= 0; axis--) {
        at[axis]++;
        if (at[axis] < runs.shape()[origin + axis]) {
          pieceLocal = rowLocal + runs.localStride()[origin + axis];
          pieceRemote = rowRemote + runs.remoteStride()[origin + axis];
          rowLeft = runs.shape()[inner] - 1;
          return;
        }
        rowLocal -= (at[axis] - 1) * runs.localStride()[origin + axis];
        rowRemote -= (at[axis] - 1) * runs.remoteStride()[origin + axis];
        at[axis] = 0;
      }
      run++;
      pieceLocal = runs.local()[run];
      pieceRemote = runs.remote()[run];
      pieceLength = runs.length()[run];
      enterRow((run + 1) * axes - 1, 0);
    }

    private void enterRow(int inner, int column) {
      localStride = runs.localStride()[inner];
      remoteStride = runs.remoteStride()[inner];
      rowLeft = runs.shape()[inner] - 1 - column;
    }
  }
}
