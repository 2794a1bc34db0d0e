/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.DataRequest.Op;
import org.junit.jupiter.api.Test;

class RouteFlightTest {
  private static final int CHUNK = 64 << 10;

  private final RouteFlight flight = new RouteFlight(new ByteShares(), new ByteShares(), CHUNK, 0);

  @Test
  void twoChunksMayAlwaysBeUnderWay() {
    flight.lent(0, 0);

    assertThat(flight.left(Op.WRITE, CHUNK)).as("without, it would wait until what was lent is forgotten")
        .isEqualTo(CHUNK);
    flight.posted(Op.WRITE, CHUNK);
    assertThat(flight.left(Op.WRITE, CHUNK)).isEqualTo(CHUNK);
    flight.posted(Op.WRITE, CHUNK);
    assertThat(flight.left(Op.WRITE, CHUNK)).isZero();
  }

  @Test
  void nothingHoldsBackWhoIsAlone() {
    flight.posted(Op.WRITE, 100L * CHUNK);

    assertThat(flight.left(Op.WRITE, CHUNK)).isEqualTo(ByteShares.ALONE);
  }
}
