/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.memory.RegionBinder;
import dev.hawser.memory.RegionKeys;
import dev.hawser.memory.Registration;

/**
 * Says of registered memory whether this transport can move it, and how. There is nothing to register: regions are lent to
 * each path when it first meets them.
 */
final class ShmBinder implements RegionBinder {
  private static final byte VERSION = 1;
  private static final byte MAPPED = 1;
  private static final byte COPIED = 2;
  private static final byte STAGED = 3;

  private final boolean kernelCopies;
  private final String whyNot;

  /**
   * A binder.
   *
   * @param whyNot why memory cannot be copied by the kernel, if it cannot
   */
  ShmBinder(boolean kernelCopies, String whyNot) {
    this.kernelCopies = kernelCopies;
    this.whyNot = whyNot;
  }

  @Override
  public String transport() {
    return ShmTransport.NAME;
  }

  @Override
  public RegionKeys bind(Registration registration) {
    if (!registration.device().isHost()) {
      return new RegionKeys(new byte[] {VERSION, STAGED}, null);
    }
    boolean mapped = registration.backing().isPresent();
    if (!mapped && !kernelCopies) {
      throw new UnsupportedOperationException(
          "this memory was not allocated by a registry, so peers cannot map it, and " + whyNot);
    }
    return new RegionKeys(new byte[] {VERSION, mapped ? MAPPED : COPIED}, null);
  }

  @Override
  public void unbind(Registration registration, RegionKeys keys) {
    // Every path holds a use of what it lent: there is none left when this is called.
  }
}
