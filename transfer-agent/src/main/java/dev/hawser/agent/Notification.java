/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Bytes that a peer sent behind its data: when this is seen, all of that data is visible.
 *
 * @param peer who sent it
 * @param peerEpoch in which incarnation
 * @param transfer the peer's number of the transfer
 * @param requestId the transfer's request id, if it had one
 * @param payload the bytes; the receiver's own
 */
@SuppressWarnings("ArrayRecordComponent") // the payload is bytes; notifications are never compared
public record Notification(String peer, long peerEpoch, long transfer, @Nullable String requestId, byte[] payload) {
  /** The payload as UTF-8 text. */
  public String text() {
    return new String(payload, StandardCharsets.UTF_8);
  }
}
