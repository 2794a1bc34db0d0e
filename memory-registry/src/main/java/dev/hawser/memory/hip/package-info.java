/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * AMD's HIP: finding it, its calls, its compiler for kernels, and its errors. Everything above it sees a {@link
 * dev.hawser.memory.gpu.GpuDriver}.
 *
 * <p>It must not know regions or transports. It is exported to Hawser's own modules only. It has been run against Debian's
 * libraries up to "no device", and against a fake; never on an AMD GPU.
 */
@NullMarked
package dev.hawser.memory.hip;

import org.jspecify.annotations.NullMarked;
