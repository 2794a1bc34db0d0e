/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The page about the configuration has every setting, as it is. */
class DocumentedSettingsTest {
  @Test
  void everySettingIsOnThePage() throws IOException {
    List<String> lines = Files.readAllLines(Path.of("..", "docs", "configuration.md"));

    for (Setting setting : Setting.values()) {
      String value = setting.defaultText().isEmpty() ? "" : "`" + setting.defaultText() + "`";
      assertThat(lines).contains(
          "| `" + setting.key() + "` | `" + setting.variable() + "` | " + value + " | " + setting.meaning() + " |");
    }
    assertThat(lines.stream().filter(line -> line.startsWith("| `")).count()).isEqualTo(Setting.values().length);
  }
}
