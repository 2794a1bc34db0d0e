/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import java.io.Serial;

/** Ends a request with a problem. */
final class ProblemException extends RuntimeException {
  @Serial
  private static final long serialVersionUID = 1L;

  private final transient Problem problem;

  ProblemException(Problem problem) {
    super(problem.detail());
    this.problem = problem;
  }

  Problem problem() {
    return problem;
  }

  /** The client's mistake, most of the time: where it was noticed is of no interest. */
  @Override
  public Throwable fillInStackTrace() {
    return this;
  }
}
