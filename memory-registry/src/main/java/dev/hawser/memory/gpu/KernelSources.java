/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** The kernels as they lie in this module: the source, and what was made from it for CUDA. */
public final class KernelSources {
  private KernelSources() {}

  /** {@code kernels.cu}: what is compiled on the machine where nothing can be made ahead. */
  public static byte[] source() {
    return resource("kernels.cu");
  }

  /** {@code kernels.ptx}, for every CUDA device from compute capability 7.5 on. */
  public static byte[] ptx() {
    return resource("kernels.ptx");
  }

  private static byte[] resource(String name) {
    try (InputStream in = KernelSources.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalStateException("this build lacks " + name + "; build it again");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
