/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.engine.LatencyCounts;
import dev.hawser.engine.spi.NetworkReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FlowLogTest {
  private static final FlowReport REPORT =
      new FlowReport(
          "decode",
          "tcp",
          "10.0.0.1",
          "10.0.0.2",
          3,
          true,
          1 << 19,
          1 << 19,
          4096,
          2_000_000,
          new FlowWindow(8, 8_000, 1_000_000, 3_000, 9_000),
          FlowWindow.EMPTY,
          LatencyCounts.EMPTY,
          Optional.of(new NetworkReport(2, 1, 250_000, 90_000, 65_536)),
          Set.of(Anomaly.SLOW_RAIL, Anomaly.BACK_PRESSURE),
          "RESET: \"gone\"\n");

  @TempDir
  private Path folder;

  /** Reports that count how often they were asked for. */
  private static final class Asked implements Supplier<List<FlowReport>> {
    final CountDownLatch left;

    Asked(int times) {
      left = new CountDownLatch(times);
    }

    @Override
    public List<FlowReport> get() {
      left.countDown();
      return List.of(REPORT);
    }

    void await() throws InterruptedException {
      assertThat(left.await(20, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aLineIsOneObject() {
    assertThat(FlowLog.line(1_700_000_000_000L, "prefill", REPORT))
        .isEqualTo(
            "{\"at\":1700000000000,\"agent\":\"prefill\",\"peer\":\"decode\",\"rail\":\"tcp:10.0.0.1\","
                + "\"remote_rail\":\"10.0.0.2\",\"path\":3,\"up\":true,\"bytes\":1048576,\"in_flight\":4096,"
                + "\"since_progress_us\":2000,"
                + "\"network\":{\"retransmitted\":2,\"reordered\":1,\"round_trip_us\":250,"
                + "\"least_round_trip_us\":90,\"window\":65536},"
                + "\"last_8\":{\"completions\":8,\"bytes_per_s\":8000000,\"mean_us\":3,\"max_us\":9},"
                + "\"last_ms\":{\"completions\":0,\"bytes_per_s\":0,\"mean_us\":0,\"max_us\":0},"
                + "\"anomalies\":[\"back_pressure\",\"slow_rail\"],\"fault\":\"RESET: \\\"gone\\\"\\u000a\"}");
  }

  @Test
  void aPortHasALineOfItsOwn() {
    assertThat(
        FlowLog.line(
            7, "prefill",
            new PortReport("verbs:mlx5_0:1", "mlx5_0:1", Map.of("np_cnp_sent", 3L, "out_of_sequence", 2L))))
        .isEqualTo(
            "{\"at\":7,\"agent\":\"prefill\",\"rail\":\"verbs:mlx5_0:1\",\"port\":\"mlx5_0:1\","
                + "\"counters\":{\"np_cnp_sent\":3,\"out_of_sequence\":2}}");
  }

  @Test
  void theFileIsTurnedOverAndFewAreKept() throws IOException, InterruptedException {
    Path file = folder.resolve("flows");
    Asked asked = new Asked(12);
    FlowLog log = FlowLog.start(file, "a", Duration.ofMillis(1), 300, asked, List::of, () -> 7);
    asked.await();
    log.close();

    try (var all = Files.list(folder)) {
      assertThat(all.map(each -> each.getFileName().toString()))
          .containsExactlyInAnyOrder("flows", "flows.1", "flows.2", "flows.3");
    }
    assertThat(Files.readAllLines(folder.resolve("flows.3"))).allMatch(line -> line.endsWith("}"));
  }

  @Test
  void aFullDiskCostsOneWarning() throws InterruptedException {
    Path full = Path.of("/dev/full");
    assumeTrue(Files.exists(full), "there is no /dev/full here");

    assertThat(warnings(full)).singleElement().asString().contains("/dev/full (No space left on device)");
  }

  @Test
  void aFolderThatWentAwayIsToldWithoutJavasWords() throws InterruptedException {
    Path lost = folder.resolve("gone").resolve("flows");

    assertThat(warnings(lost)).singleElement().asString()
        .contains(lost + " (its folder is not there)")
        .contains("HAWSER_TELEMETRY")
        .doesNotContain("Exception");
  }

  private static List<String> warnings(Path file) throws InterruptedException {
    List<String> warnings = new CopyOnWriteArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord line) {
            warnings.add(line.getMessage());
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger("dev.hawser.engine.telemetry");
    logger.addHandler(handler);
    try {
      Asked asked = new Asked(10);
      FlowLog log = FlowLog.start(file, "a", Duration.ofMillis(1), 1 << 20, asked, List::of, () -> 7);
      asked.await();
      log.close();
      return warnings;
    } finally {
      logger.removeHandler(handler);
    }
  }
}
