/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.Rail;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** On trees as hosts with such devices have them. */
class PortCountersTest {
  @TempDir
  private Path sys;

  private PortCounters counters = new PortCounters();

  @BeforeEach
  void record() throws IOException {
    put("class/net/eth0/statistics/rx_bytes", "123456789");
    put("class/net/eth0/statistics/rx_dropped", "17");
    put("class/net/eth0/statistics/tx_errors", "0");
    put("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "998877");
    put("class/infiniband/mlx5_0/ports/1/counters/port_xmit_wait", "41");
    put("class/infiniband/mlx5_0/ports/1/counters/VL15_dropped", "N/A (no PMA)");
    put("class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "5");
    put("class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "6");
    put("class/infiniband/mlx5_0/ports/1/hw_counters/rp_cnp_handled", "7");
    put("class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "8");
    put("class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "10");
    put("class/infiniband/rxe0/ports/1/hw_counters/rcvd_seq_err", "2");
    counters = new PortCounters(sys, address -> address.equals("10.0.0.1") ? Optional.of("eth0") : Optional.empty());
  }

  private void put(String file, String content) throws IOException {
    Path path = sys.resolve(file);
    Files.createDirectories(path.getParent());
    Files.writeString(path, content + "\n");
  }

  private static Rail rail(String transport, String name) {
    return new Rail(transport, name, 0, 0);
  }

  @Test
  void readsWhatAnInterfaceCounts() {
    assertThat(counters.read(List.of(rail("tcp", "10.0.0.1"))))
        .containsExactly(
            new PortReport("tcp:10.0.0.1", "eth0", Map.of("rx_bytes", 123_456_789L, "rx_dropped", 17L)));
  }

  @Test
  void readsWhatAnRdmaPortCounts() {
    List<PortReport> reports = counters.read(List.of(rail("verbs", "mlx5_0:1"), rail("verbs", "rxe0:1")));

    assertThat(reports).extracting(PortReport::rail).containsExactly("verbs:mlx5_0:1", "verbs:rxe0:1");
    assertThat(reports.get(0).trouble())
        .containsExactly(
            Map.entry("local_ack_timeout_err", 8L),
            Map.entry("np_cnp_sent", 6L),
            Map.entry("out_of_sequence", 5L),
            Map.entry("port_xmit_wait", 41L),
            Map.entry("rp_cnp_handled", 7L));
    assertThat(reports.get(0).counters()).containsEntry("port_xmit_data", 998_877L);
    assertThat(reports.get(1).trouble()).containsExactly(Map.entry("rcvd_seq_err", 2L));
  }

  @Test
  void leavesOutWhatHasNoPort() {
    assertThat(counters.read(List.of(rail("shm", "shm"), rail("verbs", "mlx5_9:1"), rail("tcp", "::1")))).isEmpty();
  }

  @Test
  void knowsTheInterfaceOfAnAddressHere() {
    assertThat(new PortCounters().read(List.of(rail("tcp", "127.0.0.1"), rail("shm", "shm"))))
        .singleElement()
        .extracting(PortReport::port)
        .isEqualTo("lo");
  }
}
