/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * libibverbs from Java, without C of our own: what is exported is bound by name, what {@code verbs.h} inlines is called
 * through the table of functions that each open device carries. {@link dev.hawser.engine.verbs.abi.VerbsAbi} has every
 * offset and number; a test compiles them against the C headers.
 *
 * <p>It must not know connections, transports or regions. Nothing outside the transport {@code verbs} names it.
 */
@NullMarked
package dev.hawser.engine.verbs.abi;

import org.jspecify.annotations.NullMarked;
