/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.util.List;

/** None of the servers answered. */
public final class NoServerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<String> reasons;

  NoServerException(String request, List<String> reasons) {
    super("no server answered " + request + ": " + String.join("; ", reasons));
    this.reasons = List.copyOf(reasons);
  }

  /** One line per server that was tried. */
  public List<String> reasons() {
    return reasons;
  }
}
