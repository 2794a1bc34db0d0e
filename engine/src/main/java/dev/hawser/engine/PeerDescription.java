/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import java.util.List;
import java.util.Map;

/**
 * What an initiator must know to reach a peer, from the peer's metadata.
 *
 * @param name the agent's name
 * @param epoch its incarnation
 * @param addresses where its bootstrap listens, numeric {@code host:port}
 * @param transports by transport name, that transport's description
 */
public record PeerDescription(
    String name, long epoch, List<String> addresses, Map<String, byte[]> transports) {}
