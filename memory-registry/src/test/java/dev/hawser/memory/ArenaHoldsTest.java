/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

@SuppressWarnings("MustBeClosedChecker") // when an arena can be closed is what is tested
class ArenaHoldsTest {
  private final ArenaHolds holds = new ArenaHolds();

  @Test
  void heldArenasDoNotCloseAndOthersDo() {
    List<Arena> arenas = new ArrayList<>();
    for (int i = 0; i < 2 * ArenaHolds.GROUP + 5; i++) {
      Arena arena = Arena.ofShared();
      holds.acquire(arena.allocate(8));
      arenas.add(arena);
    }
    assertThat(holds.size()).isEqualTo(arenas.size());
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < arenas.size(); i++) {
      order.add(i);
    }
    Collections.shuffle(order, new Random(3));
    for (int i = 0; i < order.size(); i++) {
      Arena next = arenas.get(order.get(i));
      assertThatThrownBy(next::close).isInstanceOf(IllegalStateException.class);
      holds.release(next.scope());
      next.close();
      if (i % 16 == 0) {
        for (int rest : order.subList(i + 1, order.size())) {
          assertThatThrownBy(arenas.get(rest)::close).isInstanceOf(IllegalStateException.class);
        }
      }
    }
    assertThat(holds.size()).isZero();
  }

  @Test
  void thereIsNoGapWhenOthersComeAndGo() throws Exception {
    Arena held = Arena.ofShared();
    holds.acquire(held.allocate(8));
    AtomicBoolean done = new AtomicBoolean();
    try (ExecutorService executor = Executors.newSingleThreadExecutor()) {
      Future<Integer> refusals = executor.submit(() -> {
        int count = 0;
        while (!done.get()) {
          assertThatThrownBy(held::close).isInstanceOf(IllegalStateException.class);
          count++;
        }
        return count;
      });
      for (int i = 0; i < 300; i++) {
        Arena other = Arena.ofShared();
        holds.acquire(other.allocate(8));
        holds.release(other.scope());
        other.close();
      }
      done.set(true);
      assertThat(refusals.get()).isPositive();
    }
    holds.release(held.scope());
    held.close();
  }

  @Test
  void holdsAreCounted() {
    Arena arena = Arena.ofShared();
    MemorySegment segment = arena.allocate(8);
    holds.acquire(segment);
    holds.acquire(segment.asSlice(4, 4));
    holds.release(arena.scope());
    assertThatThrownBy(arena::close).isInstanceOf(IllegalStateException.class);
    holds.release(arena.scope());
    arena.close();

    assertThatThrownBy(() -> holds.release(arena.scope())).hasMessageContaining("never held");
    assertThatThrownBy(() -> holds.acquire(segment)).isInstanceOf(InvalidMemoryException.class);
    assertThat(holds.size()).isZero();
  }

  @Test
  void keepersEndWithTheirHolds() {
    // Its own only: those of registries in other tests come and go when they like.
    Arena arena = Arena.ofShared();
    holds.acquire(arena.allocate(8));
    List<Thread> keepers = holds.keepers();
    assertThat(keepers).singleElement().satisfies(keeper -> assertThat(keeper.isAlive()).isTrue());
    holds.release(arena.scope());
    assertThat(holds.keepers()).isEmpty();
    assertThat(keepers.getFirst().isAlive()).isFalse();
    arena.close();
  }

  @Test
  void globalMemoryNeedsNoHold() {
    assertThat(ArenaHolds.isEternal(Arena.global().scope())).isTrue();
    assertThat(ArenaHolds.isEternal(MemorySegment.ofAddress(4096).scope())).isTrue();
    assertThat(ArenaHolds.isEternal(Arena.ofAuto().scope())).isFalse();
  }
}
