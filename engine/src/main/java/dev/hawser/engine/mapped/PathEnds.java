/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.PathKey;

/** What a set-up hands to one end of a path; the end owns and closes all of it. */
public record PathEnds(
    String transport,
    PathKey key,
    PathSegment.Side side,
    PathSegment segment,
    PeerProcess peer,
    Bell bell,
    BootstrapStream stream) {}
