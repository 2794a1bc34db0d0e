/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * What a peer needs to reach a registration through one transport. Equal if the bytes are.
 *
 * @param transport whose
 * @param bytes the key; not to be changed
 */
@SuppressWarnings("ArrayRecordComponent") // the bytes go to the wire as they are; a copy each time would be wasted
public record RemoteKey(String transport, byte[] bytes) {
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof RemoteKey key && transport.equals(key.transport) && Arrays.equals(bytes, key.bytes);
  }

  @Override
  public int hashCode() {
    return 31 * transport.hashCode() + Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return transport + " key " + HexFormat.of().formatHex(bytes);
  }
}
