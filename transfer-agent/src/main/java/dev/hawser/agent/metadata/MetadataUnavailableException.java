/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

/** No metadata service answered; the message has each one's reason. Trying again later may help. */
public final class MetadataUnavailableException extends MetadataException {
  private static final long serialVersionUID = 1L;

  public MetadataUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
