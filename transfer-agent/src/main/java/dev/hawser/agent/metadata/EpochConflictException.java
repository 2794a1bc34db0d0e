/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

/** Another incarnation of the name stands in the way. */
public final class EpochConflictException extends MetadataException {
  private static final long serialVersionUID = 1L;

  private final boolean superseded;
  private final long recordedEpoch;
  private final String recordedAddress;

  EpochConflictException(String message, boolean superseded, long recordedEpoch, String recordedAddress) {
    super(message);
    this.superseded = superseded;
    this.recordedEpoch = recordedEpoch;
    this.recordedAddress = recordedAddress;
  }

  /** True if a newer epoch was accepted; false if the entry was not the expected one. */
  public boolean superseded() {
    return superseded;
  }

  /** The epoch that stands in the way; 0 if the service did not say. */
  public long recordedEpoch() {
    return recordedEpoch;
  }

  /** Its control address; empty if there is none. */
  public String recordedAddress() {
    return recordedAddress;
  }
}
