/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** A block list, or a pair of them, is wrong at one place: negative, overflowing, out of bounds, or of another length. */
public final class InvalidBlocksException extends MemoryException {
  private static final long serialVersionUID = 1L;

  /** The index of an error that concerns no single element. */
  public static final long NO_INDEX = -1;

  private final String argument;
  private final long index;

  /**
   * An exception about one element of an argument.
   *
   * @param argument its name, for example {@code localIndices}
   * @param index of the element in it, or {@link #NO_INDEX}
   * @param problem what is wrong with it, and what to do
   */
  public InvalidBlocksException(String argument, long index, String problem) {
    super((index == NO_INDEX ? argument : argument + "[" + index + "]") + ": " + problem);
    this.argument = argument;
    this.index = index;
  }

  /** The name of the argument. */
  public String argument() {
    return argument;
  }

  /** The element of it that is wrong, or {@link #NO_INDEX}. */
  public long index() {
    return index;
  }
}
