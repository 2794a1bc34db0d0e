/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The C ABI: a table of functions (include/hawser.h) that programs of other languages call once a JVM runs in their
 * process. It translates handles, structs and errors, and decides nothing: it must not know transports, links or how a
 * transfer works, only what the agent's public methods offer.
 *
 * <p>An exception must never leave a function, for that would end the process; all of them are turned into error codes
 * in one place, {@link dev.hawser.capi.FunctionTable}.
 */
@NullMarked
package dev.hawser.capi;

import org.jspecify.annotations.NullMarked;
