/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import dev.hawser.memory.ffi.Errno;

/** A call on a socket failed: which call, on what, and the operating system's reason. */
public final class NetException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String call;
  private final int errno;
  private final String target;

  /**
   * An exception for one failed call.
   *
   * @param call its C name, for example {@code bind}
   * @param errno the error number
   * @param target on what, for example {@code 127.0.0.1:4711}
   */
  public NetException(String call, int errno, String target) {
    this(call, errno, target, "");
  }

  /**
   * As {@link #NetException(String, int, String)}, with what the user can do.
   *
   * @param cure appended to the message
   */
  public NetException(String call, int errno, String target, String cure) {
    super(call + " " + target + ": " + Errno.describe(errno) + (cure.isEmpty() ? "" : "; " + cure));
    this.call = call;
    this.errno = errno;
    this.target = target;
  }

  /** The C name of the call. */
  public String call() {
    return call;
  }

  /** The error number. */
  public int errno() {
    return errno;
  }

  /** The error's name, for example {@code EADDRINUSE}. */
  public String errnoName() {
    return Errno.name(errno);
  }

  /** What it was called on. */
  public String target() {
    return target;
  }
}
