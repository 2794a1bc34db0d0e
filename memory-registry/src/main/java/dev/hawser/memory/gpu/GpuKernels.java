/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/** The functions of {@code kernels.cu} on one device. */
record GpuKernels(long copyIndexed, long copyRuns, long permute, long cast, long reduce) {
  /** Loads them; the device is entered. They stay loaded as long as the process runs. */
  static GpuKernels load(GpuDriver driver, int ordinal) {
    long module = driver.loadModule(driver.kernelImage(ordinal));
    return new GpuKernels(
        driver.function(module, "hawser_copy_indexed"),
        driver.function(module, "hawser_copy_runs"),
        driver.function(module, "hawser_permute"),
        driver.function(module, "hawser_cast"),
        driver.function(module, "hawser_reduce"));
  }
}
