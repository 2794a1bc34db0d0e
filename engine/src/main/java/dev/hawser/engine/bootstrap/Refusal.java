/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.util.Objects;

/**
 * Why a HELLO was refused, in the target's words.
 *
 * @param code the class of refusal
 * @param message one line for the initiator's user
 */
public record Refusal(Code code, String message) {

  public Refusal {
    Objects.requireNonNull(code, "code");
    Objects.requireNonNull(message, "message");
  }

  /** The classes of refusal; the wire has their {@link #number()}. */
  public enum Code {
    /** No common protocol version. */
    VERSION(1, true),
    /** The secrets differ, or one side has none. */
    AUTHENTICATION(2, true),
    /** The address is that of another agent, or of another epoch than asked for. */
    WRONG_AGENT(3, true),
    /** A newer incarnation of the initiator has taken its name. */
    SUPERSEDED(4, true),
    /** The transport or the rail is not there, or it refused the offer. */
    TRANSPORT(5, true),
    /** The path generation was used before in this session. */
    STALE_GENERATION(6, false),
    /** The target is closing. */
    CLOSING(7, true),
    /** The old session was not fenced in time; try again. */
    FENCING(8, false),
    /** Too many connections. */
    BUSY(9, false),
    /** The initiator wanted no path, but to leave its session: it has left. */
    LEFT(10, false);

    private final int number;
    private final boolean fatal;

    Code(int number, boolean fatal) {
      this.number = number;
      this.fatal = fatal;
    }

    /** The number on the wire. */
    public int number() {
      return number;
    }

    /** True if trying again without a change cannot help. */
    public boolean fatal() {
      return fatal;
    }
  }
}
