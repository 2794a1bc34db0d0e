/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

/** The metadata service could not do what was asked. The message says what, why, and what to do. */
public sealed class MetadataException extends RuntimeException
    permits EpochConflictException, MetadataUnavailableException {
  private static final long serialVersionUID = 1L;

  public MetadataException(String message) {
    super(message);
  }

  public MetadataException(String message, Throwable cause) {
    super(message, cause);
  }
}
