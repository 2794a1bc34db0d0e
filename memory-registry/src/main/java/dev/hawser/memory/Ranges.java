/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** The rules that every address range obeys: addresses and lengths are not negative, ends do not overflow. */
final class Ranges {
  private Ranges() {}

  static void check(String addressName, long address, String lengthName, long length) {
    if (address < 0) {
      throw new InvalidMemoryException(
          addressName, hex(address) + " is no address of a user process: those are below 2^63");
    }
    if (length < 0) {
      throw new InvalidMemoryException(lengthName, length + " bytes is negative");
    }
    if (address + length < 0) {
      throw new InvalidMemoryException(
          lengthName, length + " bytes at " + hex(address) + " reach beyond the end of the address space");
    }
  }

  /** Whether [innerAddress, +innerLength) lies in [address, +length); the outer range has been checked. */
  static boolean covers(long address, long length, long innerAddress, long innerLength) {
    return innerLength >= 0 && innerAddress >= address && innerLength <= length
        && innerAddress - address <= length - innerLength;
  }

  static String hex(long address) {
    return "0x" + Long.toHexString(address);
  }
}
