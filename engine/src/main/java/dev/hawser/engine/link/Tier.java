/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.TransportTraits;
import java.util.List;

/**
 * One way to reach a peer: a transport that both sides have, with its routes. Links prefer earlier
 * tiers and fall back, visibly, to later ones.
 *
 * @param transport the transport's name
 * @param traits what it can do
 * @param description what the peer published for it
 * @param routes pairs of rails
 * @param pathsPerRoute paths to open on each route
 */
@SuppressWarnings("ArrayRecordComponent") // bytes of the transport; tiers are never compared
public record Tier(
    String transport,
    TransportTraits traits,
    byte[] description,
    List<Reachability.Route> routes,
    int pathsPerRoute) {}
