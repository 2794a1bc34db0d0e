/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Arrays;

/**
 * A contiguous tensor, last axis fastest, that is to be read with its axes in another order: the arguments of {@link
 * DeviceOps#permute}, checked in the same way for every device. Immutable.
 */
public final class PermutedTensor {
  private final long[] shape;
  private final int[] axes;
  private final int elementBytes;
  private final long[] strides;
  private final long bytes;

  private PermutedTensor(long[] shape, int[] axes, int elementBytes) {
    this.shape = shape;
    this.axes = axes;
    this.elementBytes = elementBytes;
    this.strides = new long[shape.length];
    long distance = elementBytes;
    for (int axis = shape.length - 1; axis >= 0; axis--) {
      strides[axis] = distance;
      distance = multiply(distance, shape[axis]);
    }
    this.bytes = distance;
  }

  /**
   * A tensor.
   *
   * @param shape extents of its axes
   * @param axes for each axis of the result, the axis of the tensor that it is
   * @param elementBytes bytes of one element
   * @throws InvalidMemoryException if {@code axes} is not a permutation of the axes, an extent is negative, an element has
   *     no bytes, or all of it 2^63 or more
   */
  public static PermutedTensor of(long[] shape, int[] axes, int elementBytes) {
    check(shape, axes, elementBytes);
    return new PermutedTensor(shape.clone(), axes.clone(), elementBytes);
  }

  private static void check(long[] shape, int[] axes, int elementBytes) {
    boolean[] seen = new boolean[shape.length];
    boolean isPermutation = axes.length == shape.length;
    for (int i = 0; isPermutation && i < axes.length; i++) {
      isPermutation = axes[i] >= 0 && axes[i] < seen.length && !seen[axes[i]];
      if (isPermutation) {
        seen[axes[i]] = true;
      }
    }
    if (!isPermutation) {
      throw new InvalidMemoryException(
          "axes", Arrays.toString(axes) + " is no order of the axes of " + Arrays.toString(shape));
    }
    for (long extent : shape) {
      if (extent < 0) {
        throw new InvalidMemoryException("shape", Arrays.toString(shape) + " has a negative extent");
      }
    }
    if (elementBytes < 1) {
      throw new InvalidMemoryException("elementBytes", elementBytes + " bytes is no size of an element");
    }
  }

  private static long multiply(long bytes, long extent) {
    if (extent != 0 && bytes > Long.MAX_VALUE / extent) {
      throw new InvalidMemoryException("shape", "the tensor has 2^63 bytes or more");
    }
    return bytes * extent;
  }

  /** How many axes it has. */
  public int rank() {
    return shape.length;
  }

  /** All its bytes. */
  public long bytes() {
    return bytes;
  }

  /** The extent of an axis of the result. */
  public long extent(int axis) {
    return shape[axes[axis]];
  }

  /** The bytes from one element to the next along an axis of the result, in the tensor. */
  public long stride(int axis) {
    return strides[axes[axis]];
  }

  /** Its elements in the order of the result; those that stay together are joined. */
  public BlockList elements(long from, Device device) {
    long[] extents = new long[rank()];
    long[] distances = new long[rank()];
    for (int axis = 0; axis < rank(); axis++) {
      extents[axis] = extent(axis);
      distances[axis] = stride(axis);
    }
    return BlockList.strided(from, extents, distances, elementBytes, device);
  }
}
