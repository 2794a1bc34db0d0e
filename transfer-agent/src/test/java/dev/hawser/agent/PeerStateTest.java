/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.agent.metadata.AgentMetadata;
import dev.hawser.agent.metadata.PublishedRegion;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class PeerStateTest {
  @Test
  void addsRegionsOfPartialBlobs() {
    PeerState state = PeerState.first(told(1, false, true, region(1, "a", 10)))
        .merged(told(2, false, false, region(2, "b", 20)));

    assertThat(state.byName().keySet()).containsExactlyInAnyOrder("a", "b");
    assertThat(state.connectionRevision()).isEqualTo(1);
    assertThat(state.metadata().addresses()).containsExactly("h:1");
    assertThat(state.metadata().revision()).isEqualTo(2);
  }

  @Test
  void takesTheChangedKeyOfANewerRevision() {
    PeerState state = PeerState.first(told(5, false, true, region(1, "a", 10)))
        .merged(told(6, false, false, region(1, "a", 99)));
    assertThat(length(state, 1)).isEqualTo(99);

    assertThat(length(state.merged(told(5, false, false, region(1, "a", 10))), 1)).isEqualTo(99);
  }

  @Test
  void dropsWhatACompleteBlobDoesNotHave() {
    PeerState state = PeerState.first(told(1, true, true, region(1, "a", 10), region(2, "b", 10)))
        .merged(told(3, true, true, region(2, "b", 10)));

    assertThat(state.byName().keySet()).containsExactly("b");
  }

  @Test
  void ignoresAnOlderBlobAfterANewerCompleteOne() {
    PeerState state = PeerState.first(told(7, true, true, region(2, "b", 10)));

    assertThat(state.merged(told(6, true, true, region(1, "a", 10)))).isSameAs(state);
    assertThat(state.merged(told(6, false, false, region(1, "a", 10)))).isSameAs(state);
  }

  @Test
  void keepsANewerPartialRegionOverAnOlderCompleteBlob() {
    PeerState state = PeerState.first(told(9, false, true, region(3, "new", 10)))
        .merged(told(8, true, true, region(1, "a", 10)));

    assertThat(state.byName().keySet()).containsExactlyInAnyOrder("a", "new");
  }

  /** Whatever order blobs come in, the state is that of a peer whose regions are given once and never change back. */
  @Test
  void endsTheSameInAnyOrder() {
    for (long seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      List<AgentMetadata> history = history(random);
      Map<Integer, Long> expected = new TreeMap<>();
      history.getLast().regions().forEach(r -> expected.put(r.region().id(), r.region().length()));
      List<AgentMetadata> shuffled = new ArrayList<>(history);
      java.util.Collections.shuffle(shuffled, random);

      PeerState state = PeerState.first(shuffled.getFirst());
      for (AgentMetadata next : shuffled.subList(1, shuffled.size())) {
        state = state.merged(next);
      }

      Map<Integer, Long> seen = new TreeMap<>();
      state.metadata().regions().forEach(r -> seen.put(r.region().id(), r.region().length()));
      assertThat(seen).as("seed " + seed).isEqualTo(expected);
      assertThat(state.connectionRevision()).isPositive();
    }
  }

  /** Blobs of growing revisions of a peer that registers, changes and closes regions; the last one is complete. */
  private static List<AgentMetadata> history(Random random) {
    Map<Integer, PublishedRegion> present = new HashMap<>();
    List<AgentMetadata> history = new ArrayList<>();
    int nextId = 1;
    for (long revision = 1; revision < 12; revision++) {
      int what = random.nextInt(3);
      if (what == 0 && !present.isEmpty()) {
        present.remove(present.keySet().iterator().next());
      } else if (what == 1 && !present.isEmpty()) {
        int id = present.keySet().iterator().next();
        present.put(id, region(id, "", 1000 + (int) revision));
      } else {
        present.put(nextId, region(nextId, "", 10));
        nextId++;
      }
      history.add(told(revision, revision % 2 == 1, true, present.values().toArray(PublishedRegion[]::new)));
    }
    return history;
  }

  @Test
  void findsTheInnermostRegionLikeAPlainSearch() {
    for (long seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      List<PublishedRegion> regions = new ArrayList<>();
      for (int id = 1; id <= 12; id++) {
        regions.add(new PublishedRegion("", new RemoteRegion(id, 100 + random.nextInt(200), 1 + random.nextInt(80),
            random.nextInt(4) == 0 ? Device.cuda(0) : Device.HOST, new Access(random.nextInt(4)), Map.of())));
      }
      RegionIndex index = new RegionIndex(regions);
      for (int round = 0; round < 200; round++) {
        long address = 90L + random.nextInt(240);
        long length = 1L + random.nextInt(30);
        Access access = new Access(random.nextInt(4));
        RemoteRegion found = index.find(Device.HOST, address, length, access);
        boolean any = regions.stream().map(PublishedRegion::region)
            .anyMatch(r -> fits(r, address, length, access));
        assertThat(found != null).isEqualTo(any);
        if (found != null) {
          assertThat(fits(found, address, length, access)).isTrue();
        }
      }
    }
  }

  private static boolean fits(RemoteRegion region, long address, long length, Access access) {
    return region.device().isHost() && region.access().allows(access) && region.address() <= address
        && address + length <= region.address() + region.length();
  }

  private static long length(PeerState state, int id) {
    return state.metadata().regions().stream().filter(r -> r.region().id() == id).findFirst().orElseThrow().region()
        .length();
  }

  private static PublishedRegion region(int id, String name, int length) {
    return new PublishedRegion(name,
        new RemoteRegion(id, id * 10_000L, length, Device.HOST, Access.REMOTE_READ_WRITE, Map.of("t", new byte[] {1})));
  }

  private static AgentMetadata told(long revision, boolean complete, boolean connection, PublishedRegion... regions) {
    return new AgentMetadata("p", 77, revision, complete, connection, "h", 1, connection ? List.of("h:1") : List.of(),
        connection ? Map.of("t", new byte[0]) : Map.of(), Arrays.asList(regions));
  }
}
