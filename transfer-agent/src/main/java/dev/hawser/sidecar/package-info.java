/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The engine for processes that want no JVM of their own: the functions of the C ABI, spoken over a Unix socket. Memory of
 * the host is shared, and mapped at the same address on both sides, so that an address means the same in a worker and here.
 * That of a worker's GPUs is opened where the driver puts it: {@link dev.hawser.sidecar.WorkerMemories} knows where what
 * the worker names is here.
 *
 * <p>It must not know what the functions do: it carries arguments there, results back, and keeps what belongs to whom, so
 * that a worker that has died leaves nothing behind. The other end, and the words of this protocol, are in the Python
 * package ({@code _remote.py}).
 */
@NullMarked
package dev.hawser.sidecar;

import org.jspecify.annotations.NullMarked;
