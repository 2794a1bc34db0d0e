/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/**
 * What another process needs to open the allocation around an address, and what its exporter needs to know of it.
 *
 * @param handle the handle of the whole allocation
 * @param offset of the address in it, in bytes
 * @param length bytes of the allocation
 * @param bufferId its number in the exporting process
 */
public record IpcExport(IpcHandle handle, long offset, long length, long bufferId) {}
