/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Drawings of series over size, as SVG.
 *
 * <p>It must not know where the numbers come from.
 */
@NullMarked
package dev.hawser.perf.plot;

import org.jspecify.annotations.NullMarked;
