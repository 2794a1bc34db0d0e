/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import org.jspecify.annotations.Nullable;

/**
 * What a transport got for a registration that it bound.
 *
 * @param remote the bytes that a peer needs to reach it, published with the region's metadata; may be empty; null if no peer
 *     can, and nothing is published. Not to be changed afterwards
 * @param local what the transport itself needs on its hot path, found again by {@link Registration#binding}
 */
@SuppressWarnings("ArrayRecordComponent") // the bytes go to the wire as they are; a copy each time would be wasted
public record RegionKeys(byte @Nullable [] remote, @Nullable Object local) {
  /** Empty keys for peers, who need no more than to know that there are some, and nothing for the transport. */
  public static final RegionKeys NONE = new RegionKeys(new byte[0], null);
}
