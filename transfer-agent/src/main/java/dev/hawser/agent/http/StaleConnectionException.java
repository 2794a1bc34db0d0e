/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.io.IOException;
import java.io.UncheckedIOException;

/** The server had closed a connection that was kept for reuse: the request may be sent again on a new one. */
public final class StaleConnectionException extends UncheckedIOException {
  private static final long serialVersionUID = 1L;

  StaleConnectionException(IOException cause) {
    super("the server had closed the idle connection: " + cause.getMessage(), cause);
  }
}
