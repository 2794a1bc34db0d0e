/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import dev.hawser.memory.DriverException;

/** A call of the CUDA driver failed. */
public final class CudaException extends DriverException {
  private static final long serialVersionUID = 1L;

  CudaException(String call, int result) {
    super(call, result, CudaResults.name(result), CudaResults.advice(result));
  }

  @Override
  public boolean sticky() {
    return CudaResults.sticky(number());
  }
}
