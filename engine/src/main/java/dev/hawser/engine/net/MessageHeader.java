/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A {@code struct msghdr} in native memory, made once and used again for every {@link Sockets#sendMessage}.
 *
 * <p>Source: sendmsg(2); the layout of 64-bit Linux: name, namelen, iov, iovlen, control, controllen, flags. Not
 * thread-safe.
 */
public final class MessageHeader {
  /** Bytes of the struct. */
  public static final int BYTES = 56;

  private static final long IOV = 16;
  private static final long IOVLEN = 24;
  static final long CONTROL = 32;
  static final long CONTROLLEN = 40;
  static final long FLAGS = 48;

  private final MemorySegment memory;
  private final long address;

  /** A header in the first {@value #BYTES} bytes of {@code memory}, which must outlive it. */
  public MessageHeader(MemorySegment memory) {
    this.memory = memory.asSlice(0, BYTES).fill((byte) 0);
    this.address = memory.address();
  }

  /** A header at an address, whose {@value #BYTES} bytes must outlive it. */
  public static MessageHeader at(long address) {
    return new MessageHeader(RawMemory.segment(address, BYTES));
  }

  /** Points it at an array of {@code struct iovec}. */
  public MessageHeader places(long iovec, int count) {
    memory.set(ValueLayout.JAVA_LONG, IOV, iovec);
    memory.set(ValueLayout.JAVA_LONG, IOVLEN, count);
    return this;
  }

  /** The address to give to the call. */
  public long address() {
    return address;
  }

  MemorySegment memory() {
    return memory;
  }
}
