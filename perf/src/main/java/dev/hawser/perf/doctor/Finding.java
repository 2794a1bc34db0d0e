/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.doctor;

/**
 * One thing that was looked at.
 *
 * @param level how it stands
 * @param subject what was looked at
 * @param state what was found
 * @param advice what to do about it; empty if nothing is to be done
 */
public record Finding(Level level, String subject, String state, String advice) {

  /** How a thing stands. */
  public enum Level {
    /** As it should be. */
    OK,
    /** Works, but something is slower or missing. */
    NOTE,
    /** Does not work. */
    PROBLEM
  }

  static Finding ok(String subject, String state) {
    return new Finding(Level.OK, subject, state, "");
  }

  static Finding note(String subject, String state, String advice) {
    return new Finding(Level.NOTE, subject, state, advice);
  }

  static Finding problem(String subject, String state, String advice) {
    return new Finding(Level.PROBLEM, subject, state, advice);
  }
}
