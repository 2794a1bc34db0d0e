/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import dev.hawser.memory.ffi.Errno;

/** A call of libibverbs failed: which, on what, and the reason that it gave. */
public final class VerbsException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String call;
  private final int errno;

  /**
   * An exception for one failed call.
   *
   * @param call its C name, for example {@code ibv_create_qp}
   * @param target on what, for example {@code mlx5_0 port 1}
   * @param errno the error number
   * @param cure what can be done; may be empty
   */
  public VerbsException(String call, String target, int errno, String cure) {
    super(call + " on " + target + " failed: " + Errno.describe(errno) + (cure.isEmpty() ? "" : "; " + cure));
    this.call = call;
    this.errno = errno;
  }

  /** The C name of the call. */
  public String call() {
    return call;
  }

  /** The error number. */
  public int errno() {
    return errno;
  }
}
