/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import java.util.Objects;

/**
 * One NIC port, TCP interface, CUDA-IPC route, or shared memory.
 *
 * @param transport the transport's name
 * @param name unique within the transport: {@code eth0}, {@code mlx5_0:1}, {@code shm}
 * @param index position in {@link Transport#rails()}
 * @param bitsPerSecond nominal speed, 0 if not known
 */
public record Rail(String transport, String name, int index, long bitsPerSecond) {

  public Rail {
    Objects.requireNonNull(transport, "transport");
    Objects.requireNonNull(name, "name");
  }

  @Override
  public String toString() {
    return transport + ":" + name;
  }
}
