/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.metadata.chaos.EpochHistory.Kind;
import dev.hawser.metadata.chaos.EpochHistory.Operation;
import dev.hawser.metadata.etcd.EtcdProcess;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * kill -9 of replicas and of etcd's leader while many publish and fetch. {@code -Dhawser.chaos.rounds=1000} makes it
 * long, {@code -Dhawser.chaos.minutes=15} ends it in time: what was seen until then is checked, and too few faults are a
 * failure.
 */
class ChaosIT {
  private static final int ROUNDS = Integer.getInteger("hawser.chaos.rounds", 4);
  private static final Duration LONGEST = Duration.ofMinutes(Long.getLong("hawser.chaos.minutes", 600));
  private static final long SEED = Long.getLong("hawser.chaos.seed", 1);
  private static final String[] NAMES = {"a", "b", "c"};
  private static final int CLIENTS = 6;

  /** Answers that must come after a fault before the next one. */
  private static final int RECOVERED = 60;

  /** Faults between two signs of life. */
  private static final int REPORT = 100;

  private static final System.Logger LOG = System.getLogger(ChaosIT.class.getName());
  private static final Pattern LEADER = Pattern.compile("\"leader\":\"(\\d+)\"");
  private static final Pattern MEMBER = Pattern.compile("\"member_id\":\"(\\d+)\"");

  @TempDir
  private Path folder;

  private final EpochHistory history = new EpochHistory();
  private final AtomicLong epochs = new AtomicLong(1_000);
  private final AtomicLong answers = new AtomicLong();
  private final AtomicBoolean over = new AtomicBoolean();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(2)).build();

  @Test
  @Timeout(value = 12, unit = TimeUnit.HOURS)
  void nothingAcknowledgedIsLostAndNothingStaleIsSeen()
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    long began = System.nanoTime();
    int faults = 0;
    assumeTrue(EtcdProcess.binary().isPresent(), EtcdProcess.HOW_TO_ENABLE);
    try (EtcdProcess etcd = EtcdProcess.start(folder.resolve("etcd"), 3);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      leaderOf(etcd);
      String store = "etcd:" + etcd.endpoints().stream().map(URI::toString).collect(Collectors.joining(","));
      try (Replica first = Replica.start(store, folder.resolve("first.log"));
          Replica second = Replica.start(store, folder.resolve("second.log"))) {
        Replica[] replicas = {first, second};
        List<Future<?>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
          Random random = new Random(SEED * 31 + i);
          clients.add(threads.submit(() -> work(random, replicas)));
        }
        try {
          awaitProgress("before the first fault");
          while (faults < ROUNDS && System.nanoTime() - began < LONGEST.toNanos()) {
            fault(faults, etcd, replicas);
            faults++;
            if (faults % REPORT == 0) {
              LOG.log(System.Logger.Level.INFO, "{0} faults of {1} so far", faults, ROUNDS);
            }
          }
        } finally {
          over.set(true);
          for (Future<?> client : clients) {
            client.get(60, TimeUnit.SECONDS);
          }
        }
        for (String name : NAMES) {
          fetch(name, first.uri());
          fetch(name, second.uri());
        }
      }
    }
    LOG.log(
        System.Logger.Level.INFO,
        "{0} faults in {1} s, seed {2}: {3} published, {4} refused, {5} unknown, {6} fetched",
        faults,
        (System.nanoTime() - began) / 1_000_000_000,
        SEED,
        history.count(Kind.PUBLISHED),
        history.count(Kind.REFUSED),
        history.count(Kind.UNKNOWN),
        history.count(Kind.FETCHED));
    assertThat(history.violations()).as("seed " + SEED).isEmpty();
    assertThat(history.count(Kind.PUBLISHED)).isGreaterThan(faults * 10L);
    assertThat(faults).as("faults in " + LONGEST).isEqualTo(ROUNDS);
    assertThat(history.count(Kind.REFUSED)).as("stale epochs were tried").isPositive();
  }

  /** One kill, whose effect is seen, and the recovery from it. */
  private void fault(int round, EtcdProcess etcd, Replica[] replicas) {
    if (round % 2 == 0) {
      int leader = leaderOf(etcd);
      etcd.kill(leader);
      int successor = leaderOf(etcd);
      assertThat(successor).as("another member leads").isNotEqualTo(leader);
      awaitProgress("round " + round + ": after the leader " + leader + " was killed");
      etcd.restart(leader);
    } else {
      Replica victim = replicas[round / 2 % 2];
      long pid = victim.pid();
      victim.killAndRestart();
      assertThat(victim.pid()).isNotEqualTo(pid);
      awaitProgress("round " + round + ": after a replica was killed");
    }
  }

  private void awaitProgress(String when) {
    long from = answers.get();
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (answers.get() < from + RECOVERED) {
      assertThat(System.nanoTime()).as("no progress " + when).isLessThan(end);
      LockSupport.parkNanos(10_000_000);
    }
  }

  private void work(Random random, Replica[] replicas) {
    int at = random.nextInt(2);
    while (!over.get()) {
      String name = NAMES[random.nextInt(NAMES.length)];
      boolean answered =
          random.nextBoolean() ? fetch(name, replicas[at].uri()) : publish(name, random, replicas[at].uri());
      if (answered) {
        answers.incrementAndGet();
      } else {
        // As agents do: the next URL.
        at = 1 - at;
      }
    }
  }

  private boolean publish(String name, Random random, URI uri) {
    long epoch = epochs.incrementAndGet();
    if (random.nextInt(4) == 0) {
      epoch -= 10 + random.nextInt(100);
    }
    long asked = System.nanoTime();
    HttpRequest request =
        HttpRequest.newBuilder(uri.resolve("/v1/agents/" + name))
            .timeout(Duration.ofSeconds(10))
            .header("Content-Type", "application/octet-stream")
            .header("Hawser-Epoch", Long.toString(epoch))
            .header("Hawser-Ttl-Millis", "86400000")
            .PUT(HttpRequest.BodyPublishers.ofString(asked + " " + epoch))
            .build();
    HttpResponse<byte[]> response = send(request);
    long answered = System.nanoTime();
    if (response != null && (response.statusCode() == 200 || response.statusCode() == 201)) {
      history.add(new Operation(Kind.PUBLISHED, name, epoch, 0, asked, answered));
      return true;
    }
    if (response != null && response.statusCode() == 409) {
      long seen = Long.parseLong(response.headers().firstValue("Hawser-Recorded-Epoch").orElseThrow());
      history.add(new Operation(Kind.REFUSED, name, epoch, seen, asked, answered));
      return true;
    }
    history.add(new Operation(Kind.UNKNOWN, name, epoch, 0, asked, Long.MAX_VALUE));
    return false;
  }

  private boolean fetch(String name, URI uri) {
    long asked = System.nanoTime();
    HttpRequest request =
        HttpRequest.newBuilder(uri.resolve("/v1/agents/" + name))
            .timeout(Duration.ofSeconds(10))
            .header("Accept", "application/octet-stream")
            .build();
    HttpResponse<byte[]> response = send(request);
    long answered = System.nanoTime();
    if (response == null || (response.statusCode() != 200 && response.statusCode() != 404)) {
      return false;
    }
    long seen = Long.parseLong(response.headers().firstValue("Hawser-Epoch").orElse("0"));
    history.add(new Operation(Kind.FETCHED, name, 0, seen, asked, answered));
    return true;
  }

  private @Nullable HttpResponse<byte[]> send(HttpRequest request) {
    try {
      return http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    } catch (IOException killed) {
      return null;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", interrupted);
    }
  }

  /** Which member leads, once those that live agree on one that lives. */
  private int leaderOf(EtcdProcess etcd) {
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (true) {
      for (int i = 0; i < etcd.size(); i++) {
        HttpRequest status =
            HttpRequest.newBuilder(etcd.endpoints().get(i).resolve("/v3/maintenance/status"))
                .timeout(Duration.ofSeconds(2))
                .POST(HttpRequest.BodyPublishers.ofString("{}"))
                .build();
        HttpResponse<byte[]> response = send(status);
        String body = response == null ? "" : new String(response.body(), StandardCharsets.UTF_8);
        Matcher leader = LEADER.matcher(body);
        Matcher member = MEMBER.matcher(body);
        if (leader.find() && member.find() && leader.group(1).equals(member.group(1))) {
          return i;
        }
      }
      assertThat(System.nanoTime()).as("etcd has no leader").isLessThan(end);
      LockSupport.parkNanos(50_000_000);
    }
  }
}
