/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A transfer that is done.
 *
 * @param operation what it did
 * @param peer with whom
 * @param peerEpoch with which incarnation
 * @param transfer its number within the link to the peer, as in telemetry
 * @param requestId the request id, if it had one
 * @param bytes how many
 * @param elapsed from the post to the end
 */
public record TransferResult(Operation operation, String peer, long peerEpoch, long transfer,
    @Nullable String requestId, long bytes, Duration elapsed) {}
