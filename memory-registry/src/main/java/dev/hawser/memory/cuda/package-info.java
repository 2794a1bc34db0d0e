/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The CUDA driver: finding it, its calls, and its errors. Everything above it sees a {@link dev.hawser.memory.gpu.GpuDriver}.
 *
 * <p>It must not know regions or transports. It is exported to Hawser's own modules only.
 */
@NullMarked
package dev.hawser.memory.cuda;

import org.jspecify.annotations.NullMarked;
