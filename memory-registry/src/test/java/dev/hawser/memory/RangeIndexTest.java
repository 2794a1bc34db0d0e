/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RangeIndexTest {
  private record Range(long address, long length, long order) {
    boolean covers(long start, long bytes) {
      return start >= address && start + bytes <= address + length;
    }
  }

  private static final Comparator<Range> BETTER =
      Comparator.comparingLong(Range::address)
          .thenComparing(Comparator.comparingLong(Range::length).reversed())
          .thenComparingLong(Range::order);

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void findsWhatTryingEveryRangeFinds(long seed) {
    Random random = new Random(seed);
    RangeIndex<Range> index = RangeIndex.empty();
    List<Range> ranges = new ArrayList<>();
    long order = 0;
    for (int step = 0; step < 3000; step++) {
      if (ranges.isEmpty() || random.nextInt(5) < (step < 2000 ? 3 : 1)) {
        Range range = new Range(random.nextInt(200), random.nextInt(60), order++);
        ranges.add(range);
        index = index.with(range.address(), range.length(), range.order(), range);
      } else {
        Range range = ranges.remove(random.nextInt(ranges.size()));
        index = index.without(range.address(), range.length(), range.order());
      }
      long start = random.nextInt(260);
      long bytes = random.nextInt(20);
      Predicate<Range> wanted = random.nextBoolean() ? range -> range.order() % 3 != 0 : range -> true;
      String where = "seed " + seed + " step " + step;
      assertThat(index.find(start, bytes, wanted)).as(where).isEqualTo(tryAll(ranges, start, bytes, wanted));
      assertThat(index.size()).isEqualTo(ranges.size());
    }
    ranges.sort(BETTER);
    assertThat(index.values()).isEqualTo(ranges);
  }

  @Test
  void innermostOfNestedRangesIsFound() {
    RangeIndex<String> index = RangeIndex.<String>empty()
        .with(0, 100, 1, "outer")
        .with(20, 60, 2, "middle")
        .with(20, 30, 3, "inner");

    assertThat(index.find(25, 10)).isEqualTo("inner");
    assertThat(index.find(45, 10)).isEqualTo("middle");
    assertThat(index.find(10, 20)).isEqualTo("outer");
    assertThat(index.find(90, 11)).isNull();
  }

  @Test
  void aCopyLeavesTheOriginalAlone() {
    RangeIndex<String> one = RangeIndex.<String>empty().with(0, 10, 1, "a");
    RangeIndex<String> two = one.with(20, 10, 2, "b");

    assertThat(one.find(20, 1)).isNull();
    assertThat(two.without(0, 10, 1).find(0, 1)).isNull();
    assertThat(two.find(0, 1)).isEqualTo("a");
    assertThat(two.without(0, 10, 7)).isSameAs(two);
  }

  @Test
  void manyRangesInOrderDoNotMakeAListOfIt() {
    RangeIndex<Integer> index = RangeIndex.empty();
    for (int i = 0; i < 200_000; i++) {
      index = index.with(i * 64L, 64, i, i);
    }
    // A degenerate tree would overflow the stack, or take hours.
    for (int i = 0; i < 200_000; i += 97) {
      assertThat(index.find(i * 64L + 5, 3)).isEqualTo(i);
    }
  }

  @Test
  void nonsenseIsNotCoveredAndNotTaken() {
    RangeIndex<String> index = RangeIndex.<String>empty().with(0, Long.MAX_VALUE, 1, "all");

    assertThat(index.find(10, -1)).isNull();
    assertThat(index.find(Long.MAX_VALUE, 10)).isNull();
    assertThat(index.find(-1, 1)).isNull();
    assertThatThrownBy(() -> index.with(-1, 1, 2, "b")).isInstanceOf(InvalidMemoryException.class);
    assertThatThrownBy(() -> index.with(2, Long.MAX_VALUE, 2, "b")).hasMessageContaining("beyond the end");
  }

  @Test
  void theCheckSeesAPlantedMistake() {
    List<Range> ranges = List.of(new Range(0, 100, 1), new Range(20, 30, 2));
    Range first = ranges.stream().filter(range -> range.covers(25, 5)).findFirst().orElseThrow();

    assertThat(first).isNotEqualTo(tryAll(ranges, 25, 5, range -> true));
  }

  private static @Nullable Range tryAll(List<Range> ranges, long start, long bytes, Predicate<Range> wanted) {
    return ranges.stream().filter(r -> r.covers(start, bytes)).filter(wanted).max(BETTER).orElse(null);
  }
}
