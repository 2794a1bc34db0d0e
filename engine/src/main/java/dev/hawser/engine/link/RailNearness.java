/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import dev.hawser.engine.spi.Rail;
import dev.hawser.memory.Device;

/** How near rails are to devices. Any thread. */
public interface RailNearness {
  /** Nobody knows: all are as near. */
  RailNearness EQUAL = (_, _) -> 1;

  /**
   * What a rail is worth for memory of a device, of one that is next to it: more than 0, at most 1. Looks at the system the
   * first time for a device.
   */
  double weight(Device device, Rail rail);
}
