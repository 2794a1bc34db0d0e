/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Other programs that move bytes, run beside ours on the same machine in the same minutes.
 *
 * <p>It must not know agents: it runs programs, reads what they print, and says what is missing.
 */
@NullMarked
package dev.hawser.perf.peers;

import org.jspecify.annotations.NullMarked;
