/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GpuVerdictsTest {
  private static final String PEER =
      "{\"name\":\"%s\",\"op\":\"write\",\"request_bytes\":%d,\"block_bytes\":%d,\"gbytes_per_s\":100.0,"
          + "\"ours_gbytes_per_s\":90.0,\"ratio\":%s,\"ratio_spread\":[0.5,1.5]}";

  @TempDir
  Path folder;
  private int missed;

  private void file(String name, String text) throws IOException {
    Files.writeString(folder.resolve(name), text);
  }

  private String print() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    missed = GpuVerdicts.print(folder, new PrintStream(bytes, true, StandardCharsets.UTF_8));
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static String row(String op, String memory, long bytes, long block, double rate) {
    return ("{\"transport\":\"%s\",\"op\":\"%s\",\"initiator_memory\":\"%s\",\"request_bytes\":%d,\"block_bytes\":%d,"
        + "\"gbytes_per_s\":%s}")
        .formatted("tcp", op, memory, bytes, block, rate);
  }

  @Test
  void saysNothingOfPartsThatDidNotRun() throws IOException {
    assertThat(print()).isEmpty();
    assertThat(missed).isZero();
  }

  @Test
  void holdsEachCopyAgainstTheBarOfItsSize() throws IOException {
    file("ipc.json", "{\"peers\":[%s,%s]}".formatted(
        PEER.formatted("cuMemcpyAsync", 1L << 30, 1L << 30, 0.97),
        PEER.formatted("cuMemcpyAsync", 1 << 20, 1 << 20, 0.61)));

    assertThat(print().lines()).containsExactly(
        "MISS gpu-ipc write 1 GiB: 90.0 GB/s beside cuMemcpyAsync 100.0: 0.97 (0.50 to 1.50) (wanted: at least 0.98)",
        "ok   gpu-ipc write 1 MiB: 90.0 GB/s beside cuMemcpyAsync 100.0: 0.61 (0.50 to 1.50) (wanted: at least 0.60)");
    assertThat(missed).isOne();
  }

  @Test
  void comparesBlocksWithTheKernelTheBatchAndWithEachOther() throws IOException {
    file("blocks4.json", "{\"rows\":[%s],\"peers\":[%s,%s]}".formatted(
        row("write", "cuda:0", 1 << 27, 4096, 1000), PEER.formatted("kernel", 1 << 27, 4096, 0.95),
        PEER.formatted("cuMemcpyBatchAsync", 1 << 27, 4096, 0.5)));
    file("blocks1.json", "{\"rows\":[%s]}".formatted(row("write", "cuda:0", 1 << 25, 1024, 490)));

    assertThat(print().lines()).hasSize(3)
        .anyMatch(line -> line.startsWith("ok   gpu-ipc write 32768 blocks of 4 KiB") && line.contains("kernel"))
        .anyMatch(
            line -> line.startsWith("MISS gpu-ipc write 32768 blocks of 4 KiB") && line.endsWith("at least 1.00)"))
        .anyMatch(line -> line.startsWith("MISS gpu-ipc write blocks of 1 KiB") && line.contains("0.49"));
    assertThat(missed).isEqualTo(2);
  }

  /** The lower of the bus and the host's figure is what to compare with, turn by turn. */
  @Test
  void comparesStagedMemoryWithTheLowerOfBusAndHost() throws IOException {
    file("ipc-host.json", "{\"rows\":[%s]}".formatted(row("write", "cuda:0", 1 << 26, 1 << 26, 10)));
    file("staged.jsonl", String.join("\n",
        "{\"rows\":[" + row("read", "cuda:0", 1 << 20, 1 << 20, 4.5) + "]}",
        "{\"rows\":[" + row("read", "host", 1 << 20, 1 << 20, 5) + "]}",
        "{\"rows\":[" + row("read", "cuda:0", 1 << 20, 1 << 20, 8) + "]}",
        "{\"rows\":[" + row("read", "host", 1 << 20, 1 << 20, 20) + "]}",
        "{\"rows\":[" + row("read", "cuda:0", 1 << 20, 1 << 20, 3) + "]}",
        "{\"rows\":[" + row("read", "host", 1 << 20, 1 << 20, 5) + "]}", ""));

    assertThat(print()).startsWith("MISS staged tcp read 1 MiB: 4.5 GB/s").contains("0.80 (0.60 to 0.90)");
  }

  @Test
  void showsTheChunksOfTheSweepBesideTheHost() throws IOException {
    file("chunks.jsonl", String.join("\n",
        "{\"chunk\":\"65536\",\"bench\":{\"rows\":[" + row("read", "cuda:0", 1 << 20, 1 << 20, 3) + "]}}",
        "{\"chunk\":\"host\",\"bench\":{\"rows\":[" + row("read", "host", 1 << 20, 1 << 20, 4) + "]}}"));

    assertThat(print()).contains("tcp read 1 MiB in chunks of 65536 at least").contains(": 0.75");
    assertThat(missed).isZero();
  }

  @Test
  void readsTheTestsAndWhatTheyPrinted() throws IOException {
    file("tests.txt", """
        gpu-ipc: first post of 40,000 shuffled blocks of 4 KiB: median 66 us, p90 132 us, highest 255 us
        [         3 tests skipped       ]
        [       185 tests successful    ]
        [         1 tests failed        ]
        """);

    assertThat(print()).contains("MISS tests: 3 tests skipped, 185 tests successful, 1 tests failed")
        .contains("ok   posting 40,000 blocks for the first time: median 66 us, p90 132, highest 255");
  }

  /** A class that cannot be made has tests that nobody counts. */
  @Test
  void aClassThatFailsIsAFailureToo() throws IOException {
    file("tests.txt", """
        [         1 containers failed     ]
        [       182 tests successful      ]
        [         0 tests failed          ]
        """);

    assertThat(print()).contains("MISS tests: 1 containers failed, 182 tests successful, 0 tests failed");
  }
}
