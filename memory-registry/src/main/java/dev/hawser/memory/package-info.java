/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Regions, devices, the registration cache, descriptors and block lists, and the only kernels there are.
 *
 * <p>It must not know transports, transfers or agents.
 */
@NullMarked
package dev.hawser.memory;

import org.jspecify.annotations.NullMarked;
