/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;

/** The same bytes in the memory of a GPU and on the host: what is done to both must leave both the same. */
final class Twin implements AutoCloseable {
  private static final Duration DEADLINE = Duration.ofSeconds(30);

  private final GpuStream stream;
  private final GpuBuffer device;
  private final GpuBuffer pinned;
  private final MemorySegment host;

  Twin(GpuStream stream, long bytes, long seed) {
    this.stream = stream;
    this.device = stream.gpu().allocate(bytes);
    this.pinned = stream.gpu().allocateHost(bytes);
    this.host = Arena.ofAuto().allocate(bytes, 64);
    Random random = new Random(seed);
    byte[] content = new byte[Math.toIntExact(bytes)];
    random.nextBytes(content);
    MemorySegment.copy(content, 0, host, ValueLayout.JAVA_BYTE, 0, content.length);
    upload();
  }

  long device() {
    return device.address();
  }

  MemorySegment host() {
    return host;
  }

  long hostAddress() {
    return host.address();
  }

  /** What to add to an address in the memory of the GPU to get the one on the host. */
  long toHost() {
    return host.address() - device.address();
  }

  /** Writes the host's bytes to the GPU. */
  void upload() {
    MemorySegment.copy(host, 0, Native.ALL, pinned.address(), host.byteSize());
    stream.copy(pinned.address(), device.address(), host.byteSize());
    stream.await(DEADLINE);
  }

  /** The GPU's bytes. */
  byte[] download() {
    stream.copy(device.address(), pinned.address(), host.byteSize());
    stream.await(DEADLINE);
    return Native.ALL.asSlice(pinned.address(), host.byteSize()).toArray(ValueLayout.JAVA_BYTE);
  }

  /** All bytes, those between blocks included. */
  void assertSame(String what) {
    byte[] expected = host.toArray(ValueLayout.JAVA_BYTE);
    byte[] found = download();
    int difference = Arrays.mismatch(found, expected);
    assertThat(difference).as("%s: first byte of %d that differs", what, expected.length).isEqualTo(-1);
  }

  @Override
  public void close() {
    device.close();
    pinned.close();
  }
}
