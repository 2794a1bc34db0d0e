/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Transfers, paths, scheduling, commit, fencing, failover and telemetry, and the transports that carry them.
 *
 * <p>It must not know agents or metadata; no transport is named outside its own package.
 */
@NullMarked
package dev.hawser.engine;

import org.jspecify.annotations.NullMarked;
