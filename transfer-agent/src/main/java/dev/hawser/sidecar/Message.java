/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.lang.foreign.MemorySegment;

/**
 * What came over a connection.
 *
 * @param number a function's, or one of the constants here
 * @param body its arguments; good until the next message of that connection
 * @param descriptors that came along, the receiver's to close
 */
@SuppressWarnings("ArrayRecordComponent") // the receiver's own; never compared
record Message(int number, MemorySegment body, int[] descriptors) {
  /** Of the words that both ends use. */
  static final int VERSION = 4;

  /** The first message of a connection: the version, and 16 bytes that all connections of a worker have in common. */
  static final int HELLO = 0xFFF0;
  /** Asks for the file behind an allocated region, to map it. */
  static final int MAPPING = 0xFFF1;
  /** Memory of the worker's, by a descriptor that comes along: to be mapped here at the same address. */
  static final int SHARE = 0xFFF2;
  /** The end of that, and of the next. */
  static final int UNSHARE = 0xFFF3;
  /** An allocation of the worker's on a GPU, by the driver's handle: to be opened here, wherever the driver puts it. */
  static final int SHARE_GPU = 0xFFF4;

  static final int HEADER_BYTES = 6; // u32 length of the body, u16 number
  static final int MOST_BYTES = 1 << 30;
  static final int NONE = 0xFFFF_FFFF; // in place of a length
}
