/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class SpreadTest {

  @Test
  void takesTheMiddleAndTheQuartiles() {
    assertThat(Spread.of(new double[] {5, 1, 4, 2, 3})).isEqualTo(new Spread(3, 2, 4));
  }

  @Test
  void betweenTwoNeighboursItInterpolates() {
    assertThat(Spread.of(new double[] {4, 1, 2, 3})).isEqualTo(new Spread(2.5, 1.75, 3.25));
  }

  @Test
  void oneFigureIsItsOwnSpread() {
    assertThat(Spread.of(new double[] {7})).isEqualTo(new Spread(7, 7, 7));
  }

  @Test
  void noFigureIsAnError() {
    assertThatThrownBy(() -> Spread.of(new double[0])).isInstanceOf(IllegalArgumentException.class);
  }
}
