/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.spi.TransportProvider;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
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

  /** Each transport has its page, which the configuration's page names. */
  @Test
  void everySettingOfATransportIsOnThePageOfThat() throws IOException {
    Map<String, String> pages =
        Map.of("gpu-ipc", "gpu-ipc.md", "shm", "shm.md", "tcp", "protocol-tcp.md", "verbs", "rdma.md");
    String all = Files.readString(Path.of("..", "docs", "configuration.md"));

    for (TransportProvider provider : ServiceLoader.load(TransportProvider.class)) {
      String page = pages.get(provider.name());
      if (page == null) {
        assertThat(provider.settings()).as("settings of %s, which has no page", provider.name()).isEmpty();
        continue;
      }
      assertThat(all).contains("](" + page);
      List<String> lines = Files.readAllLines(Path.of("..", "docs", page));
      for (String setting : provider.settings()) {
        assertThat(lines).as("%s of %s", setting, provider.name())
            .anyMatch(line -> line.startsWith("| `" + setting + "` |")
                || line.startsWith("| `" + provider.name() + "." + setting + "` |"));
      }
    }
  }
}
