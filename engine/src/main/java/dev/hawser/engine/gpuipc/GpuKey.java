/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.memory.gpu.IpcHandle;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** What peers are told of registered memory. */
sealed interface GpuKey {
  byte VERSION = 1;
  byte HOST = 1;
  byte DEVICE = 2;

  byte[] encode();

  /** Host memory that peers can map. */
  record OfHost() implements GpuKey {
    @Override
    public byte[] encode() {
      return new byte[] {VERSION, HOST};
    }
  }

  /**
   * Memory of a device.
   *
   * @param handle of the driver's allocation that it lies in
   * @param allocation where that begins in the owner's address space
   * @param bytes of the allocation
   * @param uuid of the device, as {@link dev.hawser.memory.gpu.GpuProperties} has it
   */
  record OfDevice(IpcHandle handle, long allocation, long bytes, String uuid) implements GpuKey {
    @Override
    public byte[] encode() {
      byte[] id = uuid.getBytes(StandardCharsets.US_ASCII);
      return ByteBuffer.allocate(2 + IpcHandle.BYTES + 2 * Long.BYTES + 1 + id.length)
          .order(ByteOrder.LITTLE_ENDIAN)
          .put(VERSION)
          .put(DEVICE)
          .put(handle.bytes())
          .putLong(allocation)
          .putLong(bytes)
          .put((byte) id.length)
          .put(id)
          .array();
    }
  }

  /**
   * Reads what {@link #encode} wrote.
   *
   * @throws PathSetupException if it is damaged or of another version
   */
  static GpuKey decode(byte[] bytes) {
    ByteBuffer from = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    try {
      byte version = from.get();
      if (version != VERSION) {
        throw new PathSetupException("the peer's key is of version " + version + ", this side knows " + VERSION);
      }
      byte kind = from.get();
      return switch (kind) {
        case HOST -> new OfHost();
        case DEVICE -> {
          byte[] handle = new byte[IpcHandle.BYTES];
          from.get(handle);
          long allocation = from.getLong();
          long length = from.getLong();
          byte[] uuid = new byte[Byte.toUnsignedInt(from.get())];
          from.get(uuid);
          yield new OfDevice(
              new IpcHandle(handle), allocation, length, new String(uuid, StandardCharsets.US_ASCII));
        }
        default ->
          throw new PathSetupException("the peer's key is of a kind " + kind + " that this side does not know");
      };
    } catch (BufferUnderflowException e) {
      throw new PathSetupException("the peer's key is cut off", e);
    }
  }
}
