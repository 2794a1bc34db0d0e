/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/** A transport or a rail was asked for that there is not: the question is wrong, and no measurement has failed. */
public final class UnknownNameException extends RuntimeException {
  private static final long serialVersionUID = 1;

  UnknownNameException(String message) {
    super(message);
  }
}
