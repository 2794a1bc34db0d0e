/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The live table of what flows, out of the lines that agents write. It must not know how they are written. */
@NullMarked
package dev.hawser.perf.top;

import org.jspecify.annotations.NullMarked;
