/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Sockets, readiness and descriptor passing as Linux has them, and TLS over a non-blocking socket: what the bootstrap
 * and the transports that run in software stand on.
 *
 * <p>It must not know frames, agents or transports.
 */
@NullMarked
package dev.hawser.engine.net;

import org.jspecify.annotations.NullMarked;
