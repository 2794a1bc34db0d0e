/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.top;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FlowTableTest {
  @TempDir
  private Path folder;

  private static String line(long at, int path, long bytes, boolean up, String anomalies, String fault) {
    return ("{\"at\":%d,\"agent\":\"prefill\",\"peer\":\"decode\",\"rail\":\"tcp:10.0.0.%d\",\"path\":%d,"
        + "\"up\":%s,\"bytes\":%d,\"in_flight\":7,\"last_8\":{\"mean_us\":250,\"max_us\":900},\"anomalies\":[%s],"
        + "\"fault\":\"%s\"}").formatted(at, path, path, up, bytes, anomalies, fault);
  }

  @Test
  void aRowForEachPathWithItsRateAndCourse() {
    FlowTable table = new FlowTable();
    table.add("no json");
    for (int i = 0; i <= 4; i++) {
      table.add(line(1_000L * i, 1, 125_000_000L * i * i, true, "\"slow_rail\",\"back_pressure\"", ""));
    }
    table.add(line(4_000, 2, 0, false, "", "RESET: gone"));

    List<String> rows = table.text().lines().toList();
    assertThat(rows).hasSize(4);
    assertThat(rows.get(1)).contains("prefill", "decode", "tcp:10.0.0.1", " 7.000  ", "▂▄▆█", "250", "900",
        "slow rail, back pressure");
    assertThat(rows.get(2)).contains("tcp:10.0.0.2", "DOWN RESET: gone");
    assertThat(rows.get(3)).contains("in all", "7.000");
  }

  @Test
  void whatTcpSendsAgainAndWhatPortsCountIsShown() {
    FlowTable table = new FlowTable();
    for (int i = 1; i <= 2; i++) {
      table.add(line(1_000L * i, 1, 0, true, "", "").replace("\"last_8\"",
          "\"network\":{\"retransmitted\":%d,\"round_trip_us\":812},\"last_8\"".formatted(30 * i * i)));
      table.add(("{\"at\":%d,\"agent\":\"prefill\",\"rail\":\"verbs:mlx5_0:1\",\"port\":\"mlx5_0:1\",\"counters\":"
          + "{\"np_cnp_sent\":%d,\"out_of_sequence\":5,\"port_xmit_data\":%d}}").formatted(1_000 * i, 4 * i, 9 * i));
    }

    List<String> rows = table.text().lines().toList();
    assertThat(rows.get(0)).contains("rtt us", "again");
    assertThat(rows.get(1)).contains(" 812 ", " 90 ");
    assertThat(rows.getLast()).contains("mlx5_0:1", "counted np_cnp_sent +4").doesNotContain("out_of", "xmit");
  }

  @Test
  void aLinkThatIsMadeAnewCountsFromTheBeginning() {
    FlowTable table = new FlowTable();
    table.add(line(1_000, 1, 9_000_000_000L, true, "", ""));
    table.add(line(2_000, 1, 125_000_000L, true, "", ""));
    assertThat(table.text()).contains(" 1.000  ");
  }

  @Test
  void whatIsNotWrittenAnyMoreIsGone() {
    FlowTable table = new FlowTable();
    table.add(line(1_000, 1, 0, true, "", ""));
    table.add(line(60_000, 2, 0, true, "", ""));
    assertThat(table.text()).contains("tcp:10.0.0.2").doesNotContain("tcp:10.0.0.1");
  }

  @Test
  void aFileIsFollowedWhileItGrowsAndIsTurnedOver() throws IOException {
    Path file = folder.resolve("flows");
    FileTail tail = new FileTail(file);
    List<String> lines = new ArrayList<>();
    tail.read(lines::add);
    assertThat(lines).isEmpty();

    Files.writeString(file, "one\ntw");
    tail.read(lines::add);
    Files.writeString(file, "o\nthree\n", StandardOpenOption.APPEND);
    tail.read(lines::add);
    assertThat(lines).containsExactly("one", "two", "three");

    Files.move(file, folder.resolve("flows.1"));
    Files.writeString(file, "four\n");
    tail.read(lines::add);
    assertThat(lines).containsExactly("one", "two", "three", "four");
  }
}
