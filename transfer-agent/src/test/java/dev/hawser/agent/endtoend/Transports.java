/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.agent.Agent;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.config.Secret;
import dev.hawser.agent.metadata.MetadataBlob;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The transports that work on this machine. */
final class Transports {
  private Transports() {}

  /** For method sources; at least those that work on every Linux are there. */
  static Stream<String> all() {
    HawserConfig config = HawserConfig.builder().environment(Map.of()).name("which-transports").build();
    try (Agent agent = Agent.builder(config).start()) {
      TreeSet<String> present =
          new TreeSet<>(MetadataBlob.decode(agent.metadata(), Secret.NONE, "a test").transports().keySet());
      assertThat(present).contains("shm", "tcp");
      return present.stream();
    }
  }
}
