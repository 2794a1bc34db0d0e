/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.BlockList;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PoolLayoutTest {
  private static final long BASE = 1 << 20;
  private final PoolLayout layout = new PoolLayout(KvShape.llama(3), 5);

  @Test
  void hasTheShapeOfLlama() {
    KvShape shape = KvShape.llama(KvShape.LLAMA_LAYERS);
    assertThat(shape.blockBytes()).isEqualTo(32 << 10);
    assertThat(shape.planes()).isEqualTo(64);
    assertThat(shape.blocksFor(512)).isEqualTo(32);
    assertThat(shape.blocksFor(513)).isEqualTo(33);
    assertThat(shape.blocksFor(1)).isEqualTo(1);
    assertThat(new PoolLayout(shape, 512).bytes()).isEqualTo(1L << 30);
  }

  @Test
  void givesEachBlockAPlaceOfItsOwn() {
    Set<Long> offsets = new HashSet<>();
    for (int layer = 0; layer < 3; layer++) {
      for (Part part : Part.values()) {
        for (int id = 0; id < 5; id++) {
          long offset = layout.offset(layer, part, id);
          assertThat(layout.everyBlock(BASE).address(layout.index(layer, part, id))).isEqualTo(BASE + offset);
          offsets.add(offset);
        }
      }
    }
    assertThat(offsets).hasSize(3 * 2 * 5).allMatch(offset -> offset + (32 << 10) <= layout.bytes());
  }

  @Test
  void listsBlocksInAllLayersBlockByBlock() {
    BlockList list = layout.inAllLayers(BASE, new int[] {4, 0, 2});

    assertThat(list.count()).isEqualTo(18);
    assertThat(list.totalBytes()).isEqualTo(18L * (32 << 10));
    int next = 0;
    for (int id : new int[] {4, 0, 2}) {
      for (int layer = 0; layer < 3; layer++) {
        for (Part part : Part.values()) {
          assertThat(list.address(next++)).isEqualTo(BASE + layout.offset(layer, part, id));
        }
      }
    }
  }

  @Test
  void listsOneLayer() {
    assertThat(layout.layerIndices(1, new int[] {4, 0}))
        .containsExactly(layout.index(1, Part.K, 4), layout.index(1, Part.K, 0), layout.index(1, Part.V, 4),
            layout.index(1, Part.V, 0));
  }

  @Test
  void isFoundFromALength() {
    assertThat(PoolLayout.ofBytes(layout.shape(), layout.bytes())).isEqualTo(layout);
    assertThatThrownBy(() -> PoolLayout.ofBytes(layout.shape(), layout.bytes() + 1))
        .isInstanceOf(DemonstrationException.class).hasMessageContaining("the same model");
  }
}
