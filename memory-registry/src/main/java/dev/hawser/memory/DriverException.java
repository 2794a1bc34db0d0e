/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * A call of a GPU's driver failed: which, with the driver's number and name for the reason, and what would help. Each
 * driver has its own subclass.
 */
public abstract non-sealed class DriverException extends MemoryException {
  private static final long serialVersionUID = 1L;

  private final String call;
  private final int number;
  private final String numberName;

  /**
   * An exception for one failed call.
   *
   * @param call the call with those of its arguments that help
   * @param number what it returned
   * @param numberName the driver's name for that number, for example {@code CUDA_ERROR_OUT_OF_MEMORY}
   * @param advice what it means and what to do, a clause without a full stop
   */
  protected DriverException(String call, int number, String numberName, String advice) {
    super(call + " failed: " + numberName + " (" + number + "): " + advice);
    this.call = call;
    this.number = number;
    this.numberName = numberName;
  }

  /** The call that failed, with arguments. */
  public String call() {
    return call;
  }

  /** The driver's number, for example 2. */
  public int number() {
    return number;
  }

  /** The driver's name for the number. */
  public String numberName() {
    return numberName;
  }

  /**
   * Whether the process can do nothing more with that GPU: each later call fails with the same number, whatever it is.
   * Host memory and other transports go on.
   */
  public abstract boolean sticky();
}
