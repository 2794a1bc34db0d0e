/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the numbers stand for that foreign programs hold. A handle is a slot and a serial number, so that a released one
 * is noticed and never means something else. Look-ups take no lock.
 */
final class Handles {
  private static final int FIRST = 256;
  private static final int SLOT_BITS = 24;
  private static final int SERIAL_BITS = 63 - SLOT_BITS - 1; // and as many again, before it would be negative
  private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;

  /** Replaced when it grows; elements change under the lock and are read without. */
  private volatile @Nullable Held[] slots = new Held[FIRST];
  private final ArrayDeque<Integer> free = new ArrayDeque<>();
  private int used = 1; // slot 0 stays empty: 0 is no handle
  /** From anywhere on: a handle that somebody kept from another process, now ended, shall mean nothing in this one. */
  private long serial = new SplittableRandom().nextLong(1L << SERIAL_BITS);

  /** Something held: the fields are final, so that whoever sees it sees them. */
  private record Held(long handle, Object value, Object owner) {}

  /**
   * Holds something.
   *
   * @param owner the agent that it belongs to, or the value itself
   */
  synchronized long add(Object value, Object owner) {
    Integer slot = free.poll();
    if (slot == null) {
      if (used > SLOT_MASK) {
        throw new IllegalStateException("handles: " + used + " are in use; release those that are not needed");
      }
      slot = used++;
    }
    @Nullable
    Held[] present = slots;
    if (slot >= present.length) {
      present = Arrays.copyOf(present, present.length * 2);
    }
    serial++;
    long handle = serial << SLOT_BITS | slot;
    present[slot] = new Held(handle, value, owner);
    slots = present; // publishes the element
    return handle;
  }

  /** What a handle stands for, or null. */
  @Nullable
  Object find(long handle) {
    Held held = held(handle);
    return held == null ? null : held.value();
  }

  /**
   * What a handle stands for.
   *
   * @throws InvalidHandleException if it does not stand for one of this type
   */
  <T> T get(long handle, Class<T> type, String argument) {
    Object value = find(handle);
    if (value == null) {
      throw new InvalidHandleException(argument + ": " + Long.toUnsignedString(handle)
          + (handle == 0 ? " is no handle" : " is no handle, or was released"));
    }
    if (!type.isInstance(value)) {
      throw new InvalidHandleException(argument + ": " + Long.toUnsignedString(handle) + " is the handle of a "
          + value.getClass().getSimpleName() + ", not of a " + type.getSimpleName());
    }
    return type.cast(value);
  }

  /** Whose it is. */
  <T> T ownerOf(long handle, Class<T> type) {
    Held held = held(handle);
    if (held == null) {
      throw new InvalidHandleException("handle: " + Long.toUnsignedString(handle) + " was released");
    }
    return type.cast(held.owner());
  }

  /** Lets go; false if it was not held. */
  synchronized boolean remove(long handle) {
    if (held(handle) == null) {
      return false;
    }
    int slot = (int) (handle & SLOT_MASK);
    slots[slot] = null;
    free.add(slot);
    return true;
  }

  /** Lets go of everything that belongs to an owner. */
  synchronized void removeAllOf(Object owner) {
    removeIf(held -> held.owner().equals(owner));
  }

  private void removeIf(Predicate<Held> which) {
    @Nullable
    Held[] present = slots;
    for (int slot = 1; slot < used; slot++) {
      Held held = present[slot];
      if (held != null && which.test(held)) {
        remove(held.handle());
      }
    }
  }

  /** Everything of a type. */
  synchronized <T> List<T> all(Class<T> type) {
    return Stream.of(slots).filter(held -> held != null && type.isInstance(held.value()))
        .map(held -> type.cast(held.value())).toList();
  }

  private @Nullable Held held(long handle) {
    @Nullable
    Held[] present = slots;
    int slot = (int) (handle & SLOT_MASK);
    if (slot >= present.length) {
      return null;
    }
    Held held = present[slot];
    return held != null && held.handle() == handle ? held : null;
  }
}
