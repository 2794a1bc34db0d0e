/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import org.jspecify.annotations.Nullable;

/**
 * What a timed round of one direction gave.
 *
 * @param requests that ended well
 * @param nanos from the first post to the last completion seen
 * @param failure of the first request that failed; null if none did
 */
record Round(long requests, long nanos, @Nullable String failure) {}
