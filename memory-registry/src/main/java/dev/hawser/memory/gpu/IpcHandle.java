/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.InvalidMemoryException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * By what another process opens a GPU allocation or an event: bytes that mean something to the driver only. Immutable.
 *
 * <p>Source: CUipcMemHandle, CUipcEventHandle; hipIpcMemHandle_t, hipIpcEventHandle_t.
 */
public final class IpcHandle {
  /** Bytes of every handle. */
  public static final int BYTES = 64;

  private final byte[] bytes;

  /**
   * A handle that came from another process.
   *
   * @throws InvalidMemoryException if it has not {@link #BYTES} bytes
   */
  public IpcHandle(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new InvalidMemoryException("handle", bytes.length + " bytes are no handle, which has " + BYTES);
    }
    this.bytes = bytes.clone();
  }

  /** A copy of the bytes. */
  public byte[] bytes() {
    return bytes.clone();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IpcHandle handle && Arrays.equals(bytes, handle.bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return "handle " + HexFormat.of().formatHex(bytes, 0, 8) + "…";
  }
}
