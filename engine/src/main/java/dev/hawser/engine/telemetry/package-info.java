/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What flows over each path, in windows of eight completions and of a millisecond, and what is wrong with it: measured by
 * the path's owner without locks or allocation, looked at by anybody. Knows nothing of transfers' phases, nor of
 * transports.
 */
@NullMarked
package dev.hawser.engine.telemetry;

import org.jspecify.annotations.NullMarked;
