/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.memory.Region;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The uses of regions that one request holds while its bytes move. Owner thread only. */
public final class RegionUses {
  /** Requests go to and fro between few regions: looking this far back spares most uses. */
  private static final int LOOK_BACK = 8;

  private @Nullable Region[] held = new @Nullable Region[LOOK_BACK];
  private int count;

  /** Takes a use, unless this request has one; false if the region is closing. */
  public boolean retain(Region region) {
    for (int i = count - 1; i >= 0 && i >= count - LOOK_BACK; i--) {
      if (held[i] == region) {
        return true;
      }
    }
    if (!region.tryRetain()) {
      return false;
    }
    if (count == held.length) {
      held = Arrays.copyOf(held, count * 2);
    }
    held[count++] = region;
    return true;
  }

  public void releaseAll() {
    while (count > 0) {
      count--;
      Region region = held[count];
      held[count] = null;
      if (region != null) {
        region.release();
      }
    }
  }
}
