/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import dev.hawser.memory.DriverException;

/** A call of HIP failed. */
public final class HipException extends DriverException {
  private static final long serialVersionUID = 1L;

  HipException(String call, int result) {
    super(call, result, HipResults.name(result), HipResults.advice(result));
  }

  HipException(String call, int result, String name, String advice) {
    super(call, result, name, advice);
  }

  @Override
  public boolean sticky() {
    return HipResults.sticky(number());
  }
}
