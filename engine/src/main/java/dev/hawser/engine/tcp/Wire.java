/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

/** The stream under the frames, in clear or in TLS. Never blocks. Owner thread only. */
sealed interface Wire permits PlainWire, TlsWire {

  /**
   * Sends from places.
   *
   * @param places address of an array of {@code struct iovec}
   * @param count at most 1,024
   * @return bytes that need not be kept any longer, or the negative error number: {@code -EFAULT} if the first byte is not
   *     there any more
   */
  long write(long places, int count);

  /**
   * Receives into places.
   *
   * @return bytes, 0 at the end of the stream, or the negative error number
   */
  long read(long places, int count);

  /** Where the last {@link #read} could not put bytes that it took, for the memory there is gone; 0 if it could. */
  long lost();

  /**
   * Whether {@link #read} says {@code -EFAULT} where a place is not there any more, and has taken nothing then. Otherwise it
   * must be given memory only that stays mapped; what is gone of that is told by {@link #lost}.
   */
  boolean readTellsLostPlaces();

  /** Sends what it kept back; true if nothing is left. */
  boolean flush();

  /** True if {@link #read} would give something without asking the socket. */
  boolean holdsInput();

  /** The words for an error number that one of the calls gave. */
  String describe(int errno);
}
