/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Loss;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Slices that met memory that was not there, until their requests end. Owner thread only; allocates when it meets one. */
final class LostSlices {
  private record Lost(long number, Loss loss) {}

  private final List<Lost> lost = new ArrayList<>(0);

  void add(long number, Loss loss) {
    lost.add(new Lost(number, loss));
  }

  /** Takes out all before a number; the first that was added, null if there is none. */
  @Nullable
  Loss takeBefore(long number) {
    Loss first = null;
    for (int i = 0; i < lost.size();) {
      Lost each = lost.get(i);
      if (each.number >= number) {
        i++;
        continue;
      }
      first = first == null ? each.loss : first;
      lost.remove(i);
    }
    return first;
  }
}
