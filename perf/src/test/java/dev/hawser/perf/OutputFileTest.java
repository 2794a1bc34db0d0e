/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is found out about a file before the run, and what is left of it. */
class OutputFileTest {
  @TempDir
  private Path folder;

  @Test
  void aNewFileIsThereOnlyOnceItIsWritten() throws IOException {
    Path path = folder.resolve("new.json");

    OutputFile file = Objects.requireNonNull(OutputFile.of("--json", path));

    assertThat(path).doesNotExist();
    file.write("{}");
    assertThat(path).hasContent("{}");
  }

  @Test
  void anOldFileIsKeptUntilThereIsSomethingInItsPlace() throws IOException {
    Path path = Files.writeString(folder.resolve("old.json"), "something long of the last run");

    OutputFile file = Objects.requireNonNull(OutputFile.of("--json", path));

    assertThat(path).hasContent("something long of the last run");
    file.write("{}");
    assertThat(path).hasContent("{}");
  }

  @Test
  void noOptionIsNoFile() {
    assertThat(OutputFile.of("--json", null)).isNull();
  }

  @Test
  void aFullDiskIsToldAsSuch() {
    OutputFile file = Objects.requireNonNull(OutputFile.of("--json", Path.of("/dev/full")));

    assertThatThrownBy(() -> file.write("{}")).isInstanceOf(OutputFile.LostException.class)
        .hasMessageContaining("--json /dev/full could not be written after the run");
  }
}
