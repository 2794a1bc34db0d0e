/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What a transport implements and what the engine gives to it: posting and polling with the
 * semantics of a queue pair and its completion queue, in hardware or in software.
 *
 * <p>It must not know transfers' states, sessions, leases or agents.
 */
@NullMarked
package dev.hawser.engine.spi;

import org.jspecify.annotations.NullMarked;
