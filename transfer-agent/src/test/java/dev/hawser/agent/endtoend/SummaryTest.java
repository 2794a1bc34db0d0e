/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.agent.Agent;
import dev.hawser.agent.Blocks;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Region;
import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the page of the metadata service gets to draw from agents that really move bytes. */
class SummaryTest {
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final int BYTES = 1 << 20;

  /** All that was read, at some rate, with the latency of its chunks. */
  private static Pattern moving(String transport) {
    return Pattern.compile("\"rails\":\\[.*\"name\":\"" + transport
        + ":[^\"]+\",\"up\":true,\"bytes\":\\{\"tx\":0,\"rx\":[1-9][0-9]*\\},"
        + "\"gbits\":\\{\"tx\":0\\.0,\"rx\":(?!0\\.0\\})[0-9.]+\\},\"latency_us\":\\{\"p50\":[0-9.]+,\"p99\":[0-9.]+\\}");
  }

  private static Agent agent(String name, String transport, MetadataService service) {
    return Agent.builder(HawserConfig.builder().environment(Map.of()).name(name).transports(transport)
        .metadata(service.uri().toString()).metadataTtl(Duration.ofSeconds(1)).linkLease(Duration.ofSeconds(1))
        .build()).start();
  }

  @ParameterizedTest
  @MethodSource("dev.hawser.agent.endtoend.Transports#all")
  void railsShowBytesRatesAndLatenciesAndThenWhatFailed(String transport) throws IOException, InterruptedException {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults());
        Agent here = agent("here", transport, service)) {
      try (Agent there = agent("there", transport, service)) {
        Region ours = here.allocate("pool", BYTES);
        there.allocate("pool", BYTES);
        Peer peer = here.peer("there", LONG);
        PreparedTransfer read =
            here.prepare(Operation.READ, Blocks.of(ours), peer, peer.region("pool").blocks());

        Pattern moving = moving(transport);
        long deadline = System.nanoTime() + LONG.toNanos();
        String entry = entry(service);
        while (!moving.matcher(entry).find()) {
          assertThat(System.nanoTime()).as(entry).isLessThan(deadline);
          read.postAndAwait(LONG);
          entry = entry(service);
        }
        assertThat(entry).contains("\"peers\":[{\"name\":\"there\",\"gbits\":");
      }

      Pattern failed = Pattern.compile("\"name\":\"there\",\"gbits\":[0-9.]+,\"failed\":\\[\\{\"rail\":\"" + transport
          + ":[^\"]+\",\"why\":\"[^\"]+\"");
      long deadline = System.nanoTime() + LONG.toNanos();
      String entry = entry(service);
      while (!failed.matcher(entry).find()) {
        assertThat(System.nanoTime()).as(entry).isLessThan(deadline);
        entry = entry(service);
      }
    }
  }

  private static String entry(MetadataService service) throws IOException, InterruptedException {
    try (HttpClient http = HttpClient.newHttpClient()) {
      return http.send(HttpRequest.newBuilder(service.uri().resolve("/v1/agents/here")).build(),
          HttpResponse.BodyHandlers.ofString()).body();
    }
  }
}
