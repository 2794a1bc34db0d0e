/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import dev.hawser.engine.spi.RemoteRegion;

/**
 * The generation word of a grant.
 *
 * @param region the owner's host region that holds the word
 * @param address of the 8-byte, aligned, little-endian word
 * @param generation the number in the grant
 */
public record GrantCheck(RemoteRegion region, long address, long generation) {}
