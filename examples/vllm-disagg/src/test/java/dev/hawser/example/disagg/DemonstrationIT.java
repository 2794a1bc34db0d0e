/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** The demonstration as its user runs it, with both workers in processes of their own, but with a small model. */
class DemonstrationIT {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... options) {
    CommandLine line =
        Demonstration.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
    List<String> all = new ArrayList<>(
        List.of("--layers", "3", "--tokens", "100", "--requests", "1", "--prefill-blocks", "24", "--decode-blocks",
            "40"));
    all.addAll(List.of(options));
    return line.execute(all.toArray(String[]::new));
  }

  @Test
  void movesTheCacheBothWaysAndVerifiesEveryByte() {
    assertThat(run()).as("%s%s", out, err).isZero();

    assertThat(out.toString()).contains("service at http://127.0.0.1:")
        .contains("pull-1: 1.4 MB read under a grant")
        .contains("push-1: 1.4 MB written layer by layer")
        .containsPattern("late: refused, as it has to be: READ with peer 'prefill' \\(request late\\) failed: STALE")
        .contains("late: 1.4 MB read under a grant")
        .contains("prefill: 144 other blocks hold their poison: nothing else was written")
        .contains("decode: 126 blocks of requests hold what was computed for them")
        .contains("decode: 114 other blocks hold their poison: nothing else was written");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void namesABlockThatWasDamaged() {
    assertThat(run("--corrupt", "--by-hand")).isEqualTo(1);

    assertThat(out.toString()).contains("carried by hand").contains("late: 1.4 MB read under a grant")
        .doesNotContain("decode: 126 blocks");
    assertThat(err.toString()).matches("error: decode: layer 1, V block \\d+ \\(block 3 of the 7 of request late\\) "
        + "does not hold what was computed, from byte 16384 on \\(1 blocks are wrong in all\\)\n");
  }

  @Test
  void seesAStrayWrite() {
    assertThat(run("--corrupt-free", "--by-hand", "--seed", "9", "--transport", "tcp")).isEqualTo(1);

    assertThat(out.toString()).containsPattern("transport +tcp\n").contains("late: 1.4 MB read under a grant");
    assertThat(err.toString())
        .matches("error: decode: layer 1, V block \\d+, which belongs to no request, was written, "
            + "from byte 16384 on \\(1 blocks are wrong in all\\)\n");
  }

  @Test
  void saysWhichOptionIsWrong() {
    assertThat(run("--decode-blocks", "21")).isEqualTo(2);
    assertThat(err.toString()).contains("--decode-blocks");
  }
}
