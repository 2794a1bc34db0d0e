/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

/** What a foreign program calls first. Thread-safe. */
public final class CApi {
  static final int ABI_MAJOR = 1;
  static final int ABI_MINOR = 1;

  private CApi() {}

  /**
   * The table of functions, made at the first call; it lives as long as the JVM.
   *
   * @param abiMajor the major version that the caller was written for
   * @return the address of a {@code hawser_api} (include/hawser.h), or 0 if that version cannot be served
   */
  public static long table(int abiMajor) {
    return abiMajor == ABI_MAJOR ? Holder.TABLE.address() : 0;
  }

  private static final class Holder {
    static final FunctionTable TABLE = FunctionTable.make();
  }
}
