/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * GPUs, whoever made them: devices, streams, events, memory, handles for other processes, and the operations of {@link
 * dev.hawser.memory.DeviceOps} with the kernels behind them. A driver is a {@link dev.hawser.memory.gpu.GpuDriver}.
 *
 * <p>It must not know which driver that is, nor transports. It is exported to Hawser's own modules only, and its addresses
 * are raw: whoever calls it has checked them.
 */
@NullMarked
package dev.hawser.memory.gpu;

import org.jspecify.annotations.NullMarked;
