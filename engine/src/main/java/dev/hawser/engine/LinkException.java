/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

/** A link cannot be used; the message names the peer, each path's reason, and the cure. */
public final class LinkException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public LinkException(String message) {
    super(message);
  }
}
