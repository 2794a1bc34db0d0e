/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.DeviceKind;

/**
 * A GPU driver, call by call. Handles and addresses are raw numbers; {@link Gpu} and what it makes are the objects for
 * them.
 *
 * <p>Thread-safe. A call that needs a device acts on the one that its thread has entered. Each call throws a {@link
 * dev.hawser.memory.DriverException} where the driver refuses.
 *
 * <p>Source: CUDA driver API 13.0; HIP runtime API 5.2 and 6.
 */
public interface GpuDriver {
  /** What kind of devices it drives. */
  DeviceKind kind();

  /** Name and version, for reports. */
  String description();

  /** How many devices it shows to this process. */
  int deviceCount();

  /** What is known of a device. */
  GpuProperties properties(int ordinal);

  /**
   * Makes a device current on this thread. The first entry of a process starts the device, which takes long.
   *
   * @return what to give to {@link #leave}
   */
  long enter(int ordinal);

  /** Makes current what was before {@link #enter}: the thread may be the user's, with a device of its own. */
  void leave(long before);

  /** What the driver knows of an address. Needs no device entered. */
  PointerInfo pointer(long address);

  // ---------------------------------------------------------------------------------------------------- memory

  long allocate(long bytes);

  void free(long address);

  /** Allocates pinned host memory, which every device can address under the same number. */
  long allocateHost(long bytes);

  void freeHost(long address);

  /** Pins host memory, so that every device can address it under the same number. */
  void pinHost(long address, long bytes);

  void unpinHost(long address);

  /** Writes the handle by which other processes open an allocation: {@link IpcHandle#BYTES} bytes. */
  void exportMemory(long address, long handle);

  /** Opens another process's allocation; {@code handle} is the address of its bytes. */
  long openMemory(long handle);

  void closeMemory(long address);

  /** A file descriptor for a range of an allocation, the caller's to close. */
  DmaBuf exportDmaBuf(long address, long bytes);

  // ---------------------------------------------------------------------------------------------------- streams

  /** A stream that does not wait for the default stream. */
  long createStream();

  void destroyStream(long stream);

  /** Whether all work of a stream is done. Throws what made the work fail. */
  boolean isStreamIdle(long stream);

  /** An event without timing; {@code interprocess}: one that other processes can open. */
  long createEvent(boolean timing, boolean interprocess);

  void destroyEvent(long event);

  void recordEvent(long event, long stream);

  boolean isEventDone(long event);

  /** Milliseconds between two recorded events with timing. */
  float elapsed(long from, long to);

  void waitEvent(long stream, long event);

  void exportEvent(long event, long handle);

  long openEvent(long handle);

  /** The stream writes {@code value} once it has come to it, visible to hosts, devices and NICs behind all its earlier work. */
  void writeValue(long stream, long address, long value);

  /** The stream waits until the number at {@code address}, minus {@code value}, is not negative. */
  void waitValue(long stream, long address, long value);

  /** Copies between any memory that the driver knows, and host memory. The ranges must not overlap. */
  void copy(long from, long to, long bytes, long stream);

  /** Whether {@link #copyBatch} is there. */
  boolean hasCopyBatch();

  /** Copies many ranges, in no order; the arguments are addresses of arrays of 64-bit numbers. */
  void copyBatch(long froms, long tos, long sizes, long count, long stream);

  void fill(long address, byte value, long bytes, long stream);

  // ---------------------------------------------------------------------------------------------------- kernels

  /** The kernels for a device, as {@link #loadModule} wants them. */
  byte[] kernelImage(int ordinal);

  long loadModule(byte[] image);

  void unloadModule(long module);

  long function(long module, String name);

  /** Launches a kernel on a line of blocks; {@code parameters} is the address of an array of addresses of arguments. */
  void launch(long function, int blocks, int threads, long stream, long parameters);

  // ---------------------------------------------------------------------------------------------------- peers

  /** Whether device {@code ordinal} can address the memory of {@code peer} directly. */
  boolean canAccessPeer(int ordinal, int peer);

  /** Lets device {@code ordinal}, which is entered, address the memory of {@code peer}. Again is no error. */
  void enablePeer(int ordinal, int peer);

  /** Copies from one device to another, whether or not they can address each other: where they cannot, through the host. */
  void copyPeer(long from, int fromOrdinal, long to, int toOrdinal, long bytes, long stream);
}
