/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

/** Error numbers that a provider returns. */
final class FakeErrno {
  static final int EIO = 5;
  static final int EBADF = 9;
  static final int ENOMEM = 12;
  static final int EBUSY = 16;
  static final int EINVAL = 22;
  static final int ENOSYS = 38;
  static final int ENODATA = 61;
  static final int EOPNOTSUPP = 95;
  static final int ETIMEDOUT = 110;

  private FakeErrno() {}
}
