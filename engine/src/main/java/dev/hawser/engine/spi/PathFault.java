/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import java.util.Objects;

/**
 * Why a path generation failed.
 *
 * @param kind the class of fault, which decides what the engine does about it
 * @param detail what happened, to what, in one line, with the operating system's or the NIC's own
 *     name and number of the error
 */
public record PathFault(Kind kind, String detail) {

  /** The classes of fault. */
  public enum Kind {
    /** The peer's side is closed or reset. */
    RESET,
    /** The peer could not be reached. */
    UNREACHABLE,
    /** The peer's host is there, and says that nobody listens at any of the peer's addresses. */
    REFUSED,
    /** No answer in time. */
    TIMED_OUT,
    /** The local port or interface is down. */
    PORT_DOWN,
    /** The NIC or the kernel reported an error for posted work. */
    WORK_ERROR,
    /** Bytes that do not follow the protocol. */
    PROTOCOL,
    /** The engine itself ended it: a local fence, a cancel, the end of a session. */
    ABORTED
  }

  public PathFault {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(detail, "detail");
  }

  @Override
  public String toString() {
    return kind + ": " + detail;
  }
}
