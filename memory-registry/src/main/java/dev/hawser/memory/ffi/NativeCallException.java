/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

/** A C call failed: which, with what arguments, and the reason that it gave by {@code errno}. */
public final class NativeCallException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String call;
  private final int errno;

  /**
   * An exception for one failed call.
   *
   * @param call the call with those of its arguments that help, for example {@code open(/dev/shm/a)}
   * @param errno the error number that it left
   */
  public NativeCallException(String call, int errno) {
    super(call + " failed: " + Errno.describe(errno));
    this.call = call;
    this.errno = errno;
  }

  /** The call that failed, with arguments. */
  public String call() {
    return call;
  }

  /** The error number, for example 12 for {@code ENOMEM}. */
  public int errno() {
    return errno;
  }
}
