/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Many incarnations fight for few names, and whoever looks never sees time go backwards. */
class StaleEpochTest {
  private static final int PUBLISHERS = 8;
  private static final int ROUNDS = 150;
  private static final String[] NAMES = {"a", "b"};

  @Test
  void staleEpochNeverWins() throws InterruptedException, ExecutionException, TimeoutException {
    MetadataConfig config = MetadataConfig.builder().eventLoops(2).build();
    AtomicLong[] acknowledged = {new AtomicLong(), new AtomicLong()};
    AtomicLong epochs = new AtomicLong(1_000);
    try (MetadataService service = MetadataService.start(config);
        TestClient client = new TestClient(service.uri());
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Integer>> ends = new ArrayList<>();
      for (int i = 0; i < PUBLISHERS; i++) {
        long seed = i;
        ends.add(threads.submit(() -> publish(client, new Random(seed), epochs, acknowledged)));
      }
      int accepted = 0;
      for (Future<Integer> end : ends) {
        accepted += end.get(60, TimeUnit.SECONDS);
      }
      assertThat(accepted).as("some win").isPositive();
      assertThat(accepted).as("some lose").isLessThan(PUBLISHERS * ROUNDS);
      for (int n = 0; n < NAMES.length; n++) {
        assertThat(epochOf(client, n)).isEqualTo(acknowledged[n].get());
      }
    }
  }

  private static int publish(TestClient client, Random random, AtomicLong epochs, AtomicLong[] acknowledged) {
    int accepted = 0;
    for (int round = 0; round < ROUNDS; round++) {
      int name = random.nextInt(NAMES.length);
      long before = acknowledged[name].get();
      long epoch = epochs.incrementAndGet() - random.nextInt(12);
      HttpResponse<byte[]> answer = client.publish(NAMES[name], epoch, "blob of " + epoch);
      if (answer.statusCode() == 409) {
        long recorded = Long.parseLong(TestClient.header(answer, "Hawser-Recorded-Epoch"));
        assertThat(recorded).isGreaterThan(epoch);
      } else {
        assertThat(answer.statusCode()).isIn(200, 201);
        assertThat(epoch).as("not below what was acknowledged before it was sent").isGreaterThanOrEqualTo(before);
        acknowledged[name].accumulateAndGet(epoch, Math::max);
        accepted++;
      }
      long known = acknowledged[name].get();
      assertThat(epochOf(client, name)).isGreaterThanOrEqualTo(known);
    }
    return accepted;
  }

  private static long epochOf(TestClient client, int name) {
    HttpResponse<byte[]> fetched = client.fetch(NAMES[name]);
    long epoch = Long.parseLong(TestClient.header(fetched, "Hawser-Epoch"));
    assertThat(TestClient.text(fetched)).as("envelope and blob belong together").isEqualTo("blob of " + epoch);
    return epoch;
  }
}
