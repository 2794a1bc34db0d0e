/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** An argument does not describe memory that can be registered or used: out of range, closed, on the heap, confined. */
public final class InvalidMemoryException extends MemoryException {
  private static final long serialVersionUID = 1L;

  private final String argument;

  /**
   * An exception about one argument.
   *
   * @param argument its name
   * @param problem what is wrong with it, and what to do
   */
  public InvalidMemoryException(String argument, String problem) {
    super(argument + ": " + problem);
    this.argument = argument;
  }

  /** The name of the argument. */
  public String argument() {
    return argument;
  }
}
