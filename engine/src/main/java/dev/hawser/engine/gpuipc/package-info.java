/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The transport {@code gpu-ipc}: agents of one host move bytes from and to the memory of GPUs. The initiator opens the
 * target's allocation by the driver's handle, or maps and pins its host memory, and lets a GPU of its own copy: many blocks
 * by one kernel, long pieces by the copy engine. Messages and the rules for lending memory are those of {@code mapped}.
 *
 * <h2>Who may store, and until when</h2>
 *
 * As with any mapped rail the target cannot stop a copy that has begun. The initiator says OVER only when its streams are
 * idle and every handle is closed, so that the owner of the memory may free it then; it gives single regions back under the
 * same rule. The work of a process that has died ends with it.
 *
 * <h2>Ordering</h2>
 *
 * A request is complete when the event behind its copies is. Then the bytes are visible to the target's processors and to
 * kernels that it launches later; a flush is published after that.
 *
 * <p>It must not know transfers' states, sessions, leases or agents. Nothing outside names it but the service loader.
 */
@NullMarked
package dev.hawser.engine.gpuipc;

import org.jspecify.annotations.NullMarked;
