/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/**
 * A range of GPU memory as a file descriptor that a NIC's driver takes.
 *
 * @param fd the descriptor, the holder's to close
 * @param offset where in the file the range begins, in bytes
 */
public record DmaBuf(int fd, long offset) {}
