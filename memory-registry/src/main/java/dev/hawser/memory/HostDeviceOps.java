/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * {@link DeviceOps} on the host's memory, by the calling thread: each call is done when it returns. Thread-safe; it has no
 * state.
 */
public final class HostDeviceOps implements DeviceOps {
  /** The one there needs to be. */
  public static final HostDeviceOps INSTANCE = new HostDeviceOps();

  private HostDeviceOps() {}

  @Override
  public Device device() {
    return Device.HOST;
  }

  @Override
  public void copy(long from, long to, long bytes) {
    Ranges.check("from", from, "bytes", bytes);
    Ranges.check("to", to, "bytes", bytes);
    HostMemory.copy(from, to, bytes);
  }

  @Override
  public void copy(BlockPairs pairs, CopyDirection direction) {
    copy(pairs.cursor(), pairs.totalBytes(), direction);
  }

  @Override
  public long copy(BlockPairs.Cursor cursor, long bytes, CopyDirection direction) {
    boolean toRemote = direction == CopyDirection.LOCAL_TO_REMOTE;
    long left = bytes;
    while (left > 0 && cursor.next(left)) {
      long local = cursor.localAddress();
      long remote = cursor.remoteAddress();
      long length = cursor.length();
      HostMemory.copy(toRemote ? local : remote, toRemote ? remote : local, length);
      left -= length;
    }
    return bytes - left;
  }

  @Override
  public void gather(BlockList from, long to) {
    copy(BlockPairs.packed(from, to), CopyDirection.LOCAL_TO_REMOTE);
  }

  @Override
  public void scatter(long from, BlockList to) {
    copy(BlockPairs.packed(to, from), CopyDirection.REMOTE_TO_LOCAL);
  }

  @Override
  public void permute(long from, long to, long[] shape, int[] axes, int elementBytes) {
    // Reading in the order of the result is a gather; axes that stay together are joined into one piece.
    gather(PermutedTensor.of(shape, axes, elementBytes).elements(from, Device.HOST), to);
  }

  @Override
  public void cast(long from, ElementType fromType, long to, ElementType toType, long count) {
    HostCast.cast(from, fromType, to, toType, count);
  }

  @Override
  public void reduce(ReduceOp op, ElementType type, long[] from, long to, long count) {
    if (from.length == 0) {
      throw new InvalidMemoryException("from", "no arrays to reduce; give at least one");
    }
    if (count < 0) {
      throw new InvalidMemoryException("count", count + " elements is negative");
    }
    HostReduce.reduce(op, type, from, to, count);
  }

  @Override
  public void finish() {
    // every call above was done when it returned
  }

  @Override
  public void close() {
    // holds nothing
  }
}
