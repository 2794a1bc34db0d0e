/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class BlocksTest {
  private final MemoryRegistry registry = MemoryRegistry.create();
  private final Region region = registry.allocate(10_000, Access.LOCAL);

  @AfterEach
  void close() {
    registry.close();
  }

  @Test
  void areTheRegionsOwn() {
    assertThat(Blocks.of(region)).isEqualTo(BlockList.of(region.address(), 10_000));
    assertThat(Blocks.of(region, 4096).count()).as("a rest is left out").isEqualTo(2);
    assertThat(Blocks.of(region, 16, 100, 3)).isEqualTo(BlockList.strided(region.address() + 16, 100, 100, 3));
  }

  @Test
  void thatDoNotFitAreRefused() {
    assertThatIllegalArgumentException().isThrownBy(() -> Blocks.of(region, 0)).withMessageContaining("blockBytes: 0");
    assertThatIllegalArgumentException().isThrownBy(() -> Blocks.of(region, -1))
        .withMessageContaining("blockBytes: -1");
    long[][] outside = {{-1, 1, 1}, {0, -1, 1}, {0, 1, -1}, {9_999, 2, 1}, {10_001, 0, 1}, {8, 1L << 62, 4}};
    for (long[] range : outside) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> Blocks.of(region, range[0], range[1], range[2]))
          .withMessageContaining("are not within the 10000 bytes of region");
    }
  }

  /** Its memory may be somebody else's by now. */
  @Test
  void ofAClosedRegionThereAreNone() {
    region.close();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Blocks.of(region))
        .withMessageContaining(region + " is closed");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Blocks.of(region, 4096))
        .withMessageContaining(region + " is closed");
  }
}
