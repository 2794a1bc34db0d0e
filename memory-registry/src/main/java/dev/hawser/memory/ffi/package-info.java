/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * How Hawser calls C: finding symbols, making downcall handles, capturing {@code errno}, and the Linux calls that more
 * than one module needs.
 *
 * <p>It must not know regions, registries or anything above them. It is exported to Hawser's own modules only, and its
 * addresses are raw: whoever calls it has checked them.
 */
@NullMarked
package dev.hawser.memory.ffi;

import org.jspecify.annotations.NullMarked;
