/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.agent.Agent;
import dev.hawser.agent.Blocks;
import dev.hawser.agent.Peer;
import dev.hawser.agent.TransferOptions;
import dev.hawser.memory.Region;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The example of the README, as it stands there. */
class ExampleTest {
  @Test
  void runs() {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults())) {
      String metadata = service.uri().toString();

      try (Agent prefill = Agent.start("prefill-0", metadata); Agent decode = Agent.start("decode-0", metadata)) {
        Region produced = prefill.allocate("kv", 64 << 20);
        Region pages = decode.allocate("kv", 64 << 20);
        produced.segment().fill((byte) 42);

        Peer peer = decode.peer("prefill-0", Duration.ofSeconds(5));
        decode.read(Blocks.of(pages, 64 << 10), peer, peer.region("kv").blocks(64 << 10),
            TransferOptions.notifying("taken")).await(Duration.ofSeconds(5));
        System.out.println(prefill.awaitNotification(Duration.ofSeconds(5)).text()); // taken

        assertThat(pages.segment().get(ValueLayout.JAVA_BYTE, (64 << 20) - 1)).isEqualTo((byte) 42);
      }
    }
  }
}
