/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps arenas of others open: while a scope is held, {@code Arena.close()} throws instead of unmapping its memory.
 *
 * <p>The JDK has no public call for this. What it does promise is that an arena cannot be closed while a downcall uses one
 * of its segments ({@code Linker}, "by-reference parameters are kept alive"). So a parked {@link ArenaKeeper} thread sits
 * inside such a downcall for each segment that it keeps. One thread keeps up to {@value #GROUP} scopes; a change starts a
 * new thread with the new set before the old one lets go, so there is no gap. An arena is usually one of a few and held for
 * long, so this is paid at registration, never in a transfer.
 */
final class ArenaHolds {
  static final int GROUP = 64;

  private final ReentrantLock lock = new ReentrantLock();
  private final Map<MemorySegment.Scope, Hold> holds = new HashMap<>();
  private final List<Group> groups = new ArrayList<>();

  /** Whether memory of this scope can never go, so that there is nothing to hold. */
  static boolean isEternal(MemorySegment.Scope scope) {
    return scope.equals(Arena.global().scope());
  }

  /**
   * Holds the scope of a native segment once more.
   *
   * @throws InvalidMemoryException if its arena is closed already
   */
  void acquire(MemorySegment segment) {
    lock.lock();
    try {
      Hold hold = holds.get(segment.scope());
      if (hold == null) {
        Group group = groupWithRoom();
        group.add(segment);
        hold = new Hold(group);
        holds.put(segment.scope(), hold);
      }
      hold.count++;
    } finally {
      lock.unlock();
    }
  }

  /** Gives one hold of {@code scope} back; after the last its arena can be closed. */
  void release(MemorySegment.Scope scope) {
    lock.lock();
    try {
      Hold hold = holds.get(scope);
      if (hold == null) {
        throw new IllegalStateException("an arena is let go that was never held");
      }
      hold.count--;
      if (hold.count == 0) {
        holds.remove(scope);
        hold.group.remove(scope);
        if (hold.group.segments.isEmpty()) {
          groups.remove(hold.group);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** How many scopes are held. */
  int size() {
    lock.lock();
    try {
      return holds.size();
    } finally {
      lock.unlock();
    }
  }

  /** For tests: the threads that keep the scopes, as they are now. */
  List<Thread> keepers() {
    lock.lock();
    try {
      return groups.stream().<Thread>map(group -> group.keeper).toList();
    } finally {
      lock.unlock();
    }
  }

  private Group groupWithRoom() {
    for (Group group : groups) {
      if (group.segments.size() < GROUP) {
        return group;
      }
    }
    Group group = new Group();
    groups.add(group);
    return group;
  }

  private static final class Hold {
    final Group group;
    int count;

    Hold(Group group) {
      this.group = group;
    }
  }

  private static final class Group {
    private List<MemorySegment> segments = List.of();
    private ArenaKeeper keeper = ArenaKeeper.start(segments);

    void add(MemorySegment segment) {
      List<MemorySegment> more = new ArrayList<>(segments);
      more.add(segment);
      replace(more);
    }

    void remove(MemorySegment.Scope scope) {
      List<MemorySegment> fewer = new ArrayList<>(segments);
      fewer.removeIf(each -> each.scope().equals(scope));
      replace(fewer);
    }

    private void replace(List<MemorySegment> wanted) {
      ArenaKeeper next = ArenaKeeper.start(wanted);
      keeper.letGo();
      keeper = next;
      segments = wanted;
    }
  }
}
