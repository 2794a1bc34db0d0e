/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An engine's rails as its links share them, each direction by itself: what we read comes in by the same port as what
 * others write to us. Thread-safe.
 */
public final class RailShares {
  private final RailNearness nearness;
  private final Map<String, ByteShares> in = new ConcurrentHashMap<>();
  private final Map<String, ByteShares> out = new ConcurrentHashMap<>();

  /** Shared by nobody yet, and as near to all memory. */
  public RailShares() {
    this(RailNearness.EQUAL);
  }

  /**
   * Shared by nobody yet.
   *
   * @param nearness to devices
   */
  public RailShares(RailNearness nearness) {
    this.nearness = nearness;
  }

  RailNearness nearness() {
    return nearness;
  }

  /**
   * What comes in by a rail.
   *
   * @param rail of this host, as {@code transport:name}
   */
  ByteShares in(String rail) {
    return in.computeIfAbsent(rail, _ -> new ByteShares());
  }

  /** What goes out by it. */
  ByteShares out(String rail) {
    return out.computeIfAbsent(rail, _ -> new ByteShares());
  }
}
