/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a transport got for a registration that it bound.
 *
 * @param remote the bytes that a peer needs to reach it, published with the region's metadata; may be empty. Not to be
 *     changed afterwards
 * @param local what the transport itself needs on its hot path, found again by {@link Registration#binding}
 */
@SuppressWarnings("ArrayRecordComponent") // the bytes go to the wire as they are; a copy each time would be wasted
public record RegionKeys(byte[] remote, @Nullable Object local) {
  /** Keys with nothing for peers and nothing for the transport. */
  public static final RegionKeys NONE = new RegionKeys(new byte[0], null);

  public RegionKeys {
    Objects.requireNonNull(remote, "remote");
  }
}
