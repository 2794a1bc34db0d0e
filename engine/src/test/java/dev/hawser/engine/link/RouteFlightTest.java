/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.link;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.DataRequest.Op;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What may be under way on a route by what the target says. */
class RouteFlightTest {
  private static final int CHUNK = 64 << 10;
  private static final long LEAST = 2L * CHUNK;
  private static final long MOST = 16 << 20;
  private static final long MILLI = 1_000_000;

  private final RouteFlight flight = new RouteFlight(new ByteShares(), new ByteShares(), CHUNK, LEAST, 0);
  private final List<Boolean> demands = new ArrayList<>();

  private void underWay(long writes, long now) {
    flight.clear();
    flight.add(writes, 0, MOST, MOST);
    flight.report((_, _, _, held) -> demands.add(held), now);
  }

  private long left() {
    return flight.left(Op.WRITE, MOST);
  }

  @Test
  void aQueueRunsOut() {
    flight.lent(1 << 20, 0);
    flight.lent(ByteShares.RUN_OUT, 0);

    underWay(1 << 20, 0);
    assertThat(left()).as("not before it is gone").isZero();
    underWay(0, MILLI);
    for (int i = 0; i < 2; i++) {
      assertThat(left()).isEqualTo(CHUNK);
      flight.posted(Op.WRITE, CHUNK);
    }
    assertThat(left()).as("the least is under way").isZero();
    underWay(CHUNK, 2 * MILLI);
    flight.posted(Op.WRITE, left());
    underWay(CHUNK, 3 * MILLI);
    flight.posted(Op.WRITE, left());
    underWay(LEAST, 4 * MILLI);
    assertThat(left()).as("the way was seen; what was lent before holds").isEqualTo(1 << 18);
  }

  @Test
  void itDoesNotRunOutForEver() {
    flight.lent(ByteShares.RUN_OUT, 0);

    underWay(1 << 20, 499 * MILLI);
    assertThat(left()).isZero();
    underWay(1 << 20, 510 * MILLI);
    assertThat(left()).isEqualTo(ByteShares.ALONE);
  }

  /** It would be taken for one that is not busy, and be no part of what is shared out. */
  @Test
  void whoIsHeldBackAtTheLeastGoesOnToAsk() {
    flight.lent(LEAST, 0);
    for (long i = 0; i < 200; i++) {
      underWay(LEAST, i * 10 * MILLI);
      flight.lent(LEAST, i * 10 * MILLI);
      assertThat(left()).isZero();
    }
    assertThat(demands).hasSize(199).containsOnly(true);
  }

  @Test
  void whoHasLittleUnderWayAsksForNothing() {
    underWay(4 << 20, 0);
    assertThat(demands).hasSize(1);
    for (long i = 1; i <= 100; i++) {
      underWay(CHUNK, i * 10 * MILLI);
    }
    assertThat(demands).as("but for half a second, in which it may wait in a queue").hasSize(50);
    underWay(0, 1_010 * MILLI);
    assertThat(demands).hasSize(50);
  }

  @Test
  void aShareIsUsedWhateverTheRateThatItMadeOfAPath() {
    PathPace pace = new PathPace(true);
    pace.posted(CHUNK, true, 0);
    pace.acknowledged(CHUNK, 50 * MILLI, true, 50 * MILLI);
    long alone = pace.flight(MOST);

    assertThat(flight.flight(pace, MOST)).isEqualTo(alone);
    flight.lent(4 * alone, 0);
    assertThat(flight.flight(pace, MOST)).isEqualTo(4 * alone);
    assertThat(flight.flight(pace, alone)).isEqualTo(alone);
  }
}
