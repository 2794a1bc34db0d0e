/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * How two agents meet: one listener for every transport, HELLO, mutual authentication, and the
 * hand-over of the socket to the transport.
 *
 * <p>It must not know transfers; whether a session may begin is decided behind {@link
 * dev.hawser.engine.bootstrap.HelloHandler}.
 */
@NullMarked
package dev.hawser.engine.bootstrap;

import org.jspecify.annotations.NullMarked;
