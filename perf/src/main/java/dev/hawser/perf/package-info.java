/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The command line, the benchmarks, and comparisons with peers.
 *
 * <p>It must not name a transport class: it asks the engine for a transport by its name.
 */
@NullMarked
package dev.hawser.perf;

import org.jspecify.annotations.NullMarked;
