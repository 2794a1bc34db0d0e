/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * What can be done to memory of one device: copy, gather, scatter, permute, cast and reduce. The only owner of kernels.
 *
 * <p>Addresses are raw. The caller holds the regions that they lie in ({@link Region#tryRetain}) and has checked the
 * bounds; an address that is not mapped ends in an {@code InternalError} or in the end of the process. Calls on one
 * instance take effect in order, as on one stream; {@link #finish} waits for all of them. On the host each call is done
 * when it returns. Instances for a GPU belong to one thread; {@link HostDeviceOps} is thread-safe.
 */
public interface DeviceOps extends AutoCloseable {
  /** The device whose memory this instance works on. */
  Device device();

  /** Copies {@code bytes} bytes. Overlapping ranges are copied as if through a buffer. */
  void copy(long from, long to, long bytes);

  /** Copies every pair of blocks, in order. Blocks of different pairs should not overlap: the order then shows. */
  void copy(BlockPairs pairs, CopyDirection direction);

  /**
   * Copies the next {@code bytes} bytes of a cursor, and moves it on. Allocates nothing.
   *
   * @return bytes copied: fewer only where the pairs end
   */
  long copy(BlockPairs.Cursor cursor, long bytes, CopyDirection direction);

  /** Copies all blocks of {@code from}, in order, to {@code to.totalBytes()} contiguous bytes at {@code to}. */
  void gather(BlockList from, long to);

  /** Copies contiguous bytes at {@code from} to all blocks of {@code to}, in order. */
  void scatter(long from, BlockList to);

  /**
   * Writes a tensor with its axes in another order, for example NHD (token, head, dimension) as HND with {@code axes} 1,
   * 0, 2.
   *
   * @param from the tensor, contiguous, last axis fastest
   * @param to where the result goes, contiguous; must not overlap {@code from}
   * @param shape extents of {@code from}'s axes
   * @param axes for each axis of the result, the axis of {@code from} that it is
   * @param elementBytes bytes of one element
   * @throws InvalidMemoryException if {@code axes} is not a permutation of the axes, or an extent is negative
   */
  void permute(long from, long to, long[] shape, int[] axes, int elementBytes);

  /**
   * Converts floating-point elements, rounding to nearest, ties to even. In place (the same address) if both types have
   * the same size; otherwise the ranges must not overlap.
   *
   * @throws InvalidMemoryException if a type is not F32, BF16 or F16
   */
  void cast(long from, ElementType fromType, long to, ElementType toType, long count);

  /**
   * Joins several arrays element by element. BF16 and F16 are computed in F32 and rounded once.
   *
   * @param from addresses of the arrays, at least one
   * @param to where the result goes; may equal one of {@code from}, but not overlap one otherwise
   * @param count elements in each
   * @throws InvalidMemoryException if {@code from} is empty or {@code count} negative
   */
  void reduce(ReduceOp op, ElementType type, long[] from, long to, long count);

  /** Waits until every earlier call on this instance has taken effect. */
  void finish();

  /** Waits as {@link #finish} does, and lets go what the instance holds. On the host it does nothing. */
  @Override
  void close();
}
