/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Pinned host memory on the way from and to GPUs, for transports that cannot reach theirs: a ring of slots, each filled or
 * emptied by the device while others are on the network. It must not know any transport.
 */
@NullMarked
package dev.hawser.engine.staging;

import org.jspecify.annotations.NullMarked;
