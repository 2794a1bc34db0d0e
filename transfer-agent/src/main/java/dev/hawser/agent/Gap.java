/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** How a range misses a region. */
final class Gap {
  private Gap() {}

  /** Bytes of the range that stick out of the region, or lie between the two. */
  static long between(long regionAddress, long regionLength, long address, long length) {
    long before = Math.max(0, regionAddress - address);
    long behind = Math.max(0, address + length - (regionAddress + regionLength));
    long sum = before + behind;
    return sum < 0 ? Long.MAX_VALUE : sum;
  }

  /** In words: how the range misses the region. */
  static String describe(long regionAddress, long regionLength, long address, long length) {
    long regionEnd = regionAddress + regionLength;
    long end = address + length;
    if (address >= regionEnd) {
      return "which ends " + (address - regionEnd) + " bytes before the block begins";
    }
    if (end <= regionAddress) {
      return "which begins " + (regionAddress - end) + " bytes behind the block's end";
    }
    if (address < regionAddress) {
      return "which begins " + (regionAddress - address) + " bytes behind the block's beginning";
    }
    return "which ends " + (end - regionEnd) + " bytes before the block's end";
  }
}
