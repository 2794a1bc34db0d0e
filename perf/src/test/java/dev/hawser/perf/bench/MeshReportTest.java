/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleBiFunction;
import org.junit.jupiter.api.Test;

class MeshReportTest {
  private static final List<String> NODES = List.of("a", "b", "c", "d");

  private static MeshReport report(ToDoubleBiFunction<String, String> rate) {
    List<MeshReport.Flow> flows = new ArrayList<>();
    for (String initiator : NODES) {
      for (String target : NODES) {
        if (!initiator.equals(target)) {
          flows.add(new MeshReport.Flow(initiator, target, rate.applyAsDouble(initiator, target)));
        }
      }
    }
    return new MeshReport(NODES, "tcp", Op.WRITE, 1 << 20, flows, flows, flows, List.of());
  }

  @Test
  void amongEqualsNobodyIsSlow() {
    assertThat(report((_, _) -> 3).slow()).isEmpty();
    assertThat(report((_, _) -> 3).text()).contains("nobody is slow").contains("into a: 9.00").contains("in all: 36.0");
  }

  @Test
  void aSlowNodeIsNamedAndNotItsPairs() {
    assertThat(report((initiator, target) -> initiator.equals("c") || target.equals("c") ? 1 : 3).slow())
        .singleElement().asString().startsWith("slow node: c").contains("1.00").contains("3.00");
  }

  @Test
  void aSlowPairIsNamed() {
    assertThat(report((initiator, target) -> initiator.equals("a") && target.equals("b") ? 2 : 3).slow())
        .containsExactly("slow pair: a -> b gives 2.00 GB/s, the median pair 3.00");
  }

  @Test
  void twoNodesCannotBeCompared() {
    MeshReport two = new MeshReport(List.of("a", "b"), "shm", Op.READ, 8,
        List.of(new MeshReport.Flow("a", "b", 1), new MeshReport.Flow("b", "a", 9)), List.of(), List.of(), List.of());

    assertThat(two.slow()).isEmpty();
  }

  @Test
  void hasJson() throws Exception {
    JsonNode root = new ObjectMapper().readTree(report((_, _) -> 3).toJson("1", HostFacts.here()));

    assertThat(root.get("tool").asText()).isEqualTo("mesh");
    assertThat(root.get("pairs")).hasSize(12);
    assertThat(root.at("/pairs/0/gbits_per_s").asDouble()).isEqualTo(24);
    assertThat(root.get("slow")).isEmpty();
  }
}
