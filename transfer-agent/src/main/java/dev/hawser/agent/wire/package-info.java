/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Bytes that agents hand to each other: bounded reading and writing, checksum and signature.
 *
 * <p>It must not know what the bytes mean.
 */
@NullMarked
package dev.hawser.agent.wire;

import org.jspecify.annotations.NullMarked;
