/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Who runs the protocol: worker threads that sleep when there is nothing to do, callers that take their place for a
 * moment, and the engine that puts links, transports and the bootstrap together.
 *
 * <p>It must not know what a transfer's phases are.
 */
@NullMarked
package dev.hawser.engine.worker;

import org.jspecify.annotations.NullMarked;
