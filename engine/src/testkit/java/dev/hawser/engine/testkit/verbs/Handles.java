/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Objects by the small number that their C structs carry; numbers are never used again. Guarded by the fabric's lock. */
final class Handles<T> {
  private final List<@Nullable T> objects = new ArrayList<>();
  private int alive;

  Handles() {
    objects.add(null); // 0 is what memory that nobody wrote holds
  }

  int add(T object) {
    objects.add(object);
    alive++;
    return objects.size() - 1;
  }

  @Nullable
  T get(int handle) {
    return handle > 0 && handle < objects.size() ? objects.get(handle) : null;
  }

  void remove(int handle) {
    if (objects.set(handle, null) != null) {
      alive--;
    }
  }

  int alive() {
    return alive;
  }

  List<T> all() {
    List<T> all = new ArrayList<>();
    for (T object : objects) {
      if (object != null) {
        all.add(object);
      }
    }
    return all;
  }
}
