/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine.TypeConversionException;

/** What the command line answers, and with which exit code. */
class HawserTest {
  @TempDir
  private Path folder;

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... arguments) {
    return Hawser.run(new PrintWriter(out), new PrintWriter(err), arguments);
  }

  @Test
  void helpAndVersionAreFine() {
    assertThat(run("--help")).isZero();
    assertThat(out.toString()).contains("Usage: hawser").contains("doctor");
    assertThat(run("--version")).isZero();
    assertThat(out.toString()).containsPattern("hawser \\d+\\.\\d+\\.\\d+").doesNotContain("${");
    assertThat(err.toString()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {"''|a command is missing", "frobnicate|frobnicate",
      "doctor --nonsense|--nonsense",
      "doctor extra|extra",
      "bench --batch 99999999999|'99999999999' is too large; give at most 2147483647",
      "bench --batch many|'many' is no whole number",
      "bench --iterations -99999999999999999999|too small; give at least -9223372036854775808",
      "bench --duration soon|'soon' is not a time"})
  void wrongUsageIsOneLineAndTwo(String line, String message) {
    assertThat(run(line.isEmpty() ? new String[0] : line.split(" "))).isEqualTo(2);
    assertThat(err.toString().lines()).singleElement().asString().startsWith("hawser").contains("error: ")
        .contains(message).contains("--help");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void aMisspeltOptionIsAnsweredWithTheRightOne() {
    assertThat(run("doctor", "--verbos")).isEqualTo(2);
    assertThat(err.toString()).contains("did you mean").contains("--verbose");
  }

  @Test
  void verboseAddsTheStack() {
    assertThat(run("--verbose", "frobnicate")).isEqualTo(2);
    assertThat(err.toString().lines().count()).isGreaterThan(1);
  }

  @Test
  void doctorLooksAround() {
    assertThat(run("doctor")).isZero();
    assertThat(out.toString()).contains("java").contains("locked memory").contains("rdma devices")
        .containsPattern("transport +tcp works").containsPattern("transport +shm ").contains("bench peer");
  }

  @Test
  void configTellsEverySetting() {
    assertThat(run("config")).isZero();
    assertThat(out.toString()).contains("link-lease").contains("default")
        .contains("how long a silent peer counts as alive");
  }

  @Test
  void topTellsWhatIsNoFileOfAnAgents() throws IOException {
    assertThat(run("top", "--once", folder.toString())).isEqualTo(2);
    assertThat(oneError()).contains("is a folder");

    Path junk = Files.write(folder.resolve("junk"), new byte[] {7, 0, -1, '\n', 5});
    assertThat(run("top", junk.toString())).isEqualTo(2);
    assertThat(oneError()).contains(junk + " holds no line that an agent wrote").contains("HAWSER_TELEMETRY");

    Path text = Files.writeString(folder.resolve("text"), "no end of line");
    assertThat(run("top", text.toString())).isEqualTo(2);
    assertThat(oneError()).contains("holds no line");

    Path json = Files.writeString(folder.resolve("json"), "[1, 2]\n{\"a\": 1}\n");
    assertThat(run("top", "--once", json.toString())).isEqualTo(2);
    assertThat(oneError()).contains("holds no line");

    assertThat(run("top", "--once", Files.createFile(folder.resolve("new")).toString()))
        .as("an agent that has sent nothing yet").isZero();
  }

  @Test
  void topoTellsWhatIsNoTreeOfTheSystem() throws IOException {
    assertThat(run("topo", "--sys", folder.toString())).isEqualTo(2);
    assertThat(oneError()).contains("--sys " + folder + " is no copy of /sys");
    assertThat(out.toString()).isEmpty();

    Files.createDirectories(folder.resolve("class/net"));
    assertThat(run("topo", "--sys", folder.toString())).isZero();
  }

  private String oneError() {
    String line = err.toString();
    err.getBuffer().setLength(0);
    assertThat(line.lines()).hasSize(1);
    return line;
  }

  @Test
  void severalLinesBecomeOne() {
    assertThat(Hawser.oneLine("one\n  two\r\n\nthree\n")).isEqualTo("one; two; three");
  }

  @ParameterizedTest
  @CsvSource({"500ms, 500000000", "10, 10000000000", "1.5s, 1500000000", "2m, 120000000000", "20us, 20000",
      "1H, 3600000000000"})
  void timesHaveUnits(String text, long nanos) {
    assertThat(new DurationConverter().convert(text)).isEqualTo(Duration.ofNanos(nanos));
  }

  @ParameterizedTest
  @CsvSource({"soon", "-1s", "1d", "''", "1.s"})
  void whatIsNoTimeIsRefused(String text) {
    assertThat(org.assertj.core.api.Assertions.catchThrowable(() -> new DurationConverter().convert(text)))
        .isInstanceOf(TypeConversionException.class).hasMessageContaining("'" + text + "'");
  }
}
