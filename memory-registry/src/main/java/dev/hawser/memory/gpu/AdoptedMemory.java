/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.Device;
import dev.hawser.memory.DriverException;

/**
 * Another process's allocation that is used here as if it were this process's own: registries find it by its address here,
 * and further processes are given its owner's handle, since a driver makes none for what it has opened. The owner must not
 * free it before this is closed, or this process has ended.
 */
public final class AdoptedMemory implements AutoCloseable {
  private final AdoptedMemories all;
  private final IpcMemory opened;
  private final IpcHandle handle;
  private final Device device;
  private final long length;
  private final long bufferId;
  private boolean closed; // guarded by this

  AdoptedMemory(AdoptedMemories all, IpcMemory opened, IpcHandle handle, Device device, long length, long bufferId) {
    this.all = all;
    this.opened = opened;
    this.handle = handle;
    this.device = device;
    this.length = length;
    this.bufferId = bufferId;
  }

  /** Its first byte in this process. */
  public long address() {
    return opened.address();
  }

  /** Bytes of it. */
  public long length() {
    return length;
  }

  /** Where it is, as this process numbers devices. */
  public Device device() {
    return device;
  }

  /** Its number, which no other allocation here has. */
  long bufferId() {
    return bufferId;
  }

  boolean contains(long address) {
    return address >= address() && address - address() < length;
  }

  /** What a further process needs to reach an address of it. */
  IpcExport export(long address) {
    return new IpcExport(handle, address - address(), length, bufferId);
  }

  /** Gives it back; nothing here may use it any more. Idempotent. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    all.remove(this);
    try {
      opened.close();
    } catch (DriverException e) {
      if (!e.sticky()) {
        throw e;
      }
      // The device is lost to this process, and what it had open with it.
    }
  }

  @Override
  public String toString() {
    return length + " bytes at 0x" + Long.toHexString(address()) + " on " + device + ", of another process";
  }
}
