/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.util.List;
import java.util.stream.Collectors;

/** None of the servers answered, or none with anything but 503. */
public final class NoServerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<Failure> failures;

  /** How a server failed. */
  public enum Kind {
    /** Nobody listens there, the name is unknown, TLS does not agree, or the connection broke. */
    UNREACHABLE,
    /** It did not answer in time. */
    SILENT,
    /** It answered that it cannot serve now. */
    REFUSES
  }

  /**
   * One server's failure.
   *
   * @param server its URL
   * @param kind which kind
   * @param reason on one line
   */
  public record Failure(String server, Kind kind, String reason) {
    @Override
    public String toString() {
      return server + ": " + reason;
    }
  }

  NoServerException(String request, List<Failure> failures) {
    super("no server answered " + request + ": "
        + failures.stream().map(Failure::toString).collect(Collectors.joining("; ")));
    this.failures = List.copyOf(failures);
  }

  /** One per server that was tried. */
  public List<Failure> failures() {
    return failures;
  }

  /** Whether one of them failed like that. */
  public boolean any(Kind kind) {
    return failures.stream().anyMatch(failure -> failure.kind() == kind);
  }
}
