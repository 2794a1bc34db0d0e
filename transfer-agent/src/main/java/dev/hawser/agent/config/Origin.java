/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import java.util.Objects;

/**
 * Where the value of a setting came from.
 *
 * @param source the kind of source
 * @param detail which one: the variable's name, the file and line; empty for the builder and for defaults
 */
public record Origin(Source source, String detail) {
  /** The kinds of source, the strongest first. */
  public enum Source {
    /** Set in the program. */
    BUILDER,
    /** One of our environment variables. */
    ENVIRONMENT,
    /** The configuration file. */
    FILE,
    /** An environment variable of another tool that we honour while nothing of ours is set. */
    FOREIGN,
    /** Nobody said anything. */
    DEFAULT
  }

  static final Origin BUILT = new Origin(Source.BUILDER, "");
  static final Origin DEFAULTS = new Origin(Source.DEFAULT, "");

  public Origin {
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(detail, "detail");
  }

  @Override
  public String toString() {
    return switch (source) {
      case BUILDER -> "program";
      case ENVIRONMENT, FOREIGN -> "environment " + detail;
      case FILE -> "file " + detail;
      case DEFAULT -> "default";
    };
  }
}
