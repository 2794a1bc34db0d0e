/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The messages that two agents exchange on a connection, byte by byte: {@code docs/protocol.md}.
 *
 * <p>It must not know states, connections or time: it turns values into bytes and back, and refuses
 * what does not fit.
 */
@NullMarked
package dev.hawser.engine.wire;

import org.jspecify.annotations.NullMarked;
