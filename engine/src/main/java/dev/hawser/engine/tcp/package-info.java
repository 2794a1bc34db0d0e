/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The transport {@code tcp}: requests with the semantics of a queue pair over the stream that the bootstrap connected.
 * Received bytes go straight to their registered place, sent ones come straight from it. The wire is in {@code
 * docs/protocol-tcp.md}.
 *
 * <p>It must not know transfers' states, sessions or agents; nothing outside names it.
 */
@NullMarked
package dev.hawser.engine.tcp;

import org.jspecify.annotations.NullMarked;
