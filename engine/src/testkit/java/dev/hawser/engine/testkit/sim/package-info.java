/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A deterministic world for the engine: virtual time, seeded randomness, and connections whose data, acknowledgements
 * and failures come in every order that real NICs and networks allow.
 *
 * <p>It must not know the engine's state machines: it is driven through the transport SPI only.
 */
@NullMarked
package dev.hawser.engine.testkit.sim;

import org.jspecify.annotations.NullMarked;
