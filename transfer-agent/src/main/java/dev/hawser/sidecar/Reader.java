/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/** Takes a message apart. */
final class Reader {
  private final MemorySegment body;
  private long at;

  Reader(MemorySegment body) {
    this.body = body;
  }

  private long take(long bytes) {
    if (bytes > body.byteSize() - at) {
      throw new SidecarException("a message of a worker is cut short");
    }
    long place = at;
    at += bytes;
    return place;
  }

  /** 64 bits. */
  long number() {
    return body.get(ValueLayout.JAVA_LONG_UNALIGNED, take(Long.BYTES));
  }

  /** Bytes of the message itself, or null. */
  @Nullable
  MemorySegment content() {
    int length = body.get(ValueLayout.JAVA_INT_UNALIGNED, take(Integer.BYTES));
    if (length == Message.NONE) {
      return null;
    }
    long bytes = Integer.toUnsignedLong(length);
    return body.asSlice(take(bytes), bytes);
  }
}
