/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.agent.Telemetry.FailedPath;
import dev.hawser.agent.Telemetry.PeerLink;
import dev.hawser.agent.Telemetry.RailLoad;
import dev.hawser.agent.Telemetry.Sample;
import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.Link;
import dev.hawser.engine.Link.PathReport;
import dev.hawser.engine.spi.Rail;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class TelemetryTest {
  private static final List<Rail> RAILS = List.of(new Rail("tcp", "eth0", 0, 0), new Rail("tcp", "eth1", 1, 0));
  private static final long SECOND = 1_000_000_000;
  private static final Summary.Facts FACTS =
      new Summary.Facts("node7", 7, 2, 4096, Set.of("tcp"), Map.of("verbs", "no device"));

  private final Telemetry telemetry = new Telemetry();

  private static PathReport path(String rail, int number, boolean up, long written, long read, String fault) {
    return new PathReport("tcp", rail, rail, number, up ? 1 : 0, up, written, read, LatencyCounts.EMPTY, fault);
  }

  private static PeerLink link(Object link, PathReport... paths) {
    return new PeerLink("there", link, Link.State.UP, List.of(paths));
  }

  @Test
  void railsAreThereBeforeAnyPeerIs() {
    Sample sample = telemetry.look(RAILS, List.of(), 0);

    assertThat(sample.rails()).extracting(RailLoad::name).containsExactly("tcp:eth0", "tcp:eth1");
    assertThat(sample.rails()).allMatch(RailLoad::up);
    assertThat(sample.peers()).isEmpty();
  }

  @Test
  void ratesAreOfWhatCameSinceTheLookBefore() {
    Object link = new Object();
    telemetry.look(RAILS, List.of(link(link, path("eth0", 0, true, 1_000, 500, ""))), 0);

    Sample sample = telemetry.look(RAILS,
        List.of(link(link, path("eth0", 0, true, 250_001_000, 125_000_500, ""))), 2 * SECOND);

    RailLoad rail = sample.rails().getFirst();
    assertThat(rail.gbitsOut()).isCloseTo(1.0, Offset.offset(1e-9));
    assertThat(rail.gbitsIn()).isCloseTo(0.5, Offset.offset(1e-9));
    assertThat(rail.bytesOut()).isEqualTo(250_001_000);
    assertThat(sample.peers().getFirst().gbits()).isCloseTo(1.5, Offset.offset(1e-9));
    assertThat(telemetry.look(RAILS, List.of(), 2 * SECOND + 1_000)).as("too soon to say anything new")
        .isSameAs(sample);
  }

  @Test
  void anotherLinkToTheSamePeerBeginsAtNothing() {
    telemetry.look(RAILS, List.of(link("old", path("eth0", 0, true, 1_000_000_000, 0, ""))), 0);

    Sample sample =
        telemetry.look(RAILS, List.of(link("new", path("eth0", 0, true, 125_000_000, 0, ""))), SECOND);

    assertThat(sample.rails().getFirst().gbitsOut()).isCloseTo(1.0, Offset.offset(1e-9));
  }

  @Test
  void latencyIsOfTheChunksSinceTheLookBefore() {
    Object link = new Object();
    telemetry.look(RAILS, List.of(link(link, timed(counts(100, 1_000_000)))), 0);

    Sample sample = telemetry.look(RAILS, List.of(link(link, timed(counts(100, 1_000_000).plus(counts(10, 1_000))))),
        SECOND);

    assertThat(sample.rails().getFirst().latency().count()).isEqualTo(10);
    assertThat(sample.rails().getFirst().latency().quantile(0.99)).isCloseTo(1_000, Offset.offset(125.0));
  }

  private static PathReport timed(LatencyCounts latency) {
    return new PathReport("tcp", "eth0", "eth0", 0, 1, true, 0, 0, latency, "");
  }

  private static LatencyCounts counts(int count, long nanos) {
    long[] counts = new long[LatencyCounts.BUCKETS];
    counts[LatencyCounts.bucket(nanos)] = count;
    return LatencyCounts.of(counts);
  }

  @Test
  void railIsToBlameOnlyIfThePeerIsReachedOverAnother() {
    Sample oneRail = telemetry.look(RAILS,
        List.of(link("a", path("eth0", 0, true, 0, 0, ""), path("eth1", 1, false, 0, 0, "port is down"))), 0);
    assertThat(oneRail.rails()).extracting(RailLoad::up).containsExactly(true, false);
    assertThat(oneRail.rails().getLast().note()).isEqualTo("port is down");
    assertThat(oneRail.peers().getFirst().failed()).containsExactly(new FailedPath("tcp:eth1", "port is down"));

    Sample peerGone = telemetry.look(RAILS,
        List.of(link("a", path("eth0", 0, false, 0, 0, "refused"), path("eth1", 1, false, 0, 0, "refused"))), SECOND);
    assertThat(peerGone.rails()).extracting(RailLoad::up).containsExactly(true, true);
    assertThat(peerGone.peers().getFirst().failed()).hasSize(2);

    Sample cameBack = telemetry.look(RAILS,
        List.of(link("a", path("eth0", 0, true, 0, 0, "refused"), path("eth1", 1, true, 0, 0, "refused"))),
        2 * SECOND);
    assertThat(cameBack.peers().getFirst().failed()).as("a fault of the past").isEmpty();
  }

  @Test
  void summaryIsJsonInAsciiOnOneLine() {
    Summary.Facts facts = new Summary.Facts("hö\"st", 7, 0, 0, Set.of("t"), Map.of("verbs", "no \\ here\n"));

    assertThat(Summary.of(facts, new Sample(List.of(), List.of())))
        .isEqualTo("{\"host\":\"h\\u00f6\\\"st\",\"pid\":7,\"regions\":0,\"bytes\":0,\"transports\":[\"t\"],"
            + "\"absent\":{\"verbs\":\"no \\\\ here\\u000a\"},\"rails\":[],\"peers\":[]}");
  }

  @Test
  void summarySaysWhatThePageDraws() {
    telemetry.look(RAILS, List.of(link("a", timed(counts(1, 8_192)))), 0);
    Sample sample = telemetry.look(RAILS, List.of(
        link("a", new PathReport("tcp", "eth0", "eth0", 0, 1, true, 125_000_000, 1, counts(3, 8_192), ""),
            path("eth1", 1, false, 0, 0, "no route"))),
        SECOND);

    assertThat(Summary.of(FACTS, sample)).endsWith(
        "\"rails\":[{\"name\":\"tcp:eth1\",\"up\":false,\"bytes\":{\"tx\":0,\"rx\":0},\"gbits\":{\"tx\":0.0,\"rx\":0.0},"
            + "\"note\":\"no route\"},"
            + "{\"name\":\"tcp:eth0\",\"up\":true,\"bytes\":{\"tx\":125000000,\"rx\":1},\"gbits\":{\"tx\":1.0,\"rx\":0.01},"
            + "\"latency_us\":{\"p50\":9.22,\"p99\":9.22}}],"
            + "\"peers\":[{\"name\":\"there\",\"gbits\":1.0,\"failed\":[{\"rail\":\"tcp:eth1\",\"why\":\"no route\"}]}]}");
  }

  @Test
  void idleSummariesAreTheSame() {
    Object link = new Object();
    telemetry.look(RAILS, List.of(link(link, path("eth0", 0, true, 9, 9, ""))), 0);
    String first = Summary.of(FACTS,
        telemetry.look(RAILS, List.of(link(link, path("eth0", 0, true, 9, 9, ""))), SECOND));
    String second = Summary.of(FACTS,
        telemetry.look(RAILS, List.of(link(link, path("eth0", 0, true, 9, 9, ""))), 3 * SECOND));

    assertThat(second).isEqualTo(first);
  }

  @Test
  void summaryIsBoundedAndTroublesComeFirst() {
    List<Rail> rails = new ArrayList<>();
    List<PeerLink> peers = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      rails.add(new Rail("tcp", "rail-with-a-long-name-" + i, i, 0));
      peers.add(new PeerLink("peer-" + i, i, Link.State.CONNECTING,
          List.of(path("eth0", 0, i != 299, 1_000L * i, 0, i == 299 ? "\u0001".repeat(500) : ""))));
    }
    Map<String, String> reasons = new java.util.HashMap<>();
    for (int i = 0; i < 100; i++) {
      reasons.put("transport-" + i, "ü".repeat(300));
    }

    String summary = Summary.of(new Summary.Facts("ü".repeat(300), 7, 1, 1, Set.of("tcp"), reasons),
        telemetry.look(rails, peers, 0));

    assertThat(summary).hasSizeLessThanOrEqualTo(4096).contains("\"peers\":[{\"name\":\"peer-299\"");
  }
}
