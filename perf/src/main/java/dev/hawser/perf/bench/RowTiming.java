/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.time.Duration;

/**
 * How long a row is measured.
 *
 * @param warmup before anything counts
 * @param duration of the rounds that count, together
 * @param iterations requests to measure at least, in place of the duration; 0: the duration holds
 */
public record RowTiming(Duration warmup, Duration duration, long iterations) {}
