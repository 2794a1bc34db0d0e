/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

/** A block lies in no region that may be used for this transfer. Nothing was posted. */
public final class UnresolvedBlocksException extends AgentException {
  private static final long serialVersionUID = 1L;

  private final String argument;
  private final long index;
  private final long address;
  private final long length;

  UnresolvedBlocksException(String argument, long index, long address, long length, String problem) {
    super(argument + "[" + index + "], " + length + " bytes at 0x" + Long.toHexString(address) + ", " + problem);
    this.argument = argument;
    this.index = index;
    this.address = address;
    this.length = length;
  }

  /** {@code local} or {@code remote}. */
  public String argument() {
    return argument;
  }

  /** The index of the block in its list. */
  public long index() {
    return index;
  }

  /** Where the block begins. */
  public long address() {
    return address;
  }

  /** Its bytes. */
  public long length() {
    return length;
  }
}
