/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

/**
 * Names one generation of one path within a link session.
 *
 * @param path u16, stable while the path comes and goes
 * @param generation u16, from 1, never reused within a session
 */
public record PathKey(int path, int generation) {

  public PathKey {
    if ((path & ~0xffff) != 0 || (generation & ~0xffff) != 0) {
      throw new IllegalArgumentException(
          "path and generation are u16: path=" + path + " generation=" + generation);
    }
  }

  /** Both in one int: path in the upper half. */
  public int packed() {
    return path << 16 | generation;
  }

  public static PathKey unpack(int packed) {
    return new PathKey(packed >>> 16, packed & 0xffff);
  }

  @Override
  public String toString() {
    return path + "." + generation;
  }
}
