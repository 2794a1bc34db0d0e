/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.wire;

/** Optional features of the protocol, a bit each: what both sides have is agreed upon when a path is opened. */
public final class Capabilities {
  /** The target lends the initiator bytes under way: DEMAND and BYTE_CREDIT. */
  public static final long BYTE_CREDITS = 1;

  /** Those that this code has. */
  public static final long ALL = BYTE_CREDITS;

  private Capabilities() {}
}
