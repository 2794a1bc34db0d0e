/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.metadata.store.Event;
import dev.hawser.metadata.store.EventLog;
import dev.hawser.metadata.store.Labels;
import dev.hawser.metadata.store.Publication;
import dev.hawser.metadata.store.Store;
import dev.hawser.metadata.store.StoreConformance;
import dev.hawser.metadata.store.StoreException;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store on a real etcd. */
class EtcdStoreIT extends StoreConformance {
  private static final AtomicInteger PREFIXES = new AtomicInteger();

  @TempDir
  private static Path folder;
  private static EtcdProcess etcd;
  private EtcdSettings settings;
  private EtcdStore store;
  private EtcdStore other;

  @BeforeAll
  static void startEtcd() throws IOException {
    assumeTrue(EtcdProcess.binary().isPresent(), EtcdProcess.HOW_TO_ENABLE);
    etcd = EtcdProcess.start(folder, 1);
  }

  @AfterAll
  static void stopEtcd() {
    if (etcd != null) {
      etcd.close();
    }
  }

  @BeforeEach
  void open() {
    settings = settings(etcd.endpoints(), "/test" + PREFIXES.incrementAndGet() + "/");
    store = awaitOpen(settings);
    other = EtcdStore.open(settings);
  }

  @AfterEach
  void close() {
    get(store.close());
    get(other.close());
  }

  static EtcdSettings settings(List<URI> endpoints, String prefix) {
    return new EtcdSettings(endpoints, prefix, Optional.empty(), Optional.empty(), Optional.empty(), 1_000);
  }

  /** etcd needs a moment until it has a leader. */
  static EtcdStore awaitOpen(EtcdSettings settings) {
    long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (true) {
      try {
        return EtcdStore.open(settings);
      } catch (StoreException notYet) {
        if (System.nanoTime() > end) {
          throw notYet;
        }
      }
    }
  }

  @Override
  protected long shortMillis() {
    return 2_000;
  }

  @Override
  protected Store store() {
    return store;
  }

  @Override
  protected Store other() {
    return other;
  }

  @Test
  void newReplicaKnowsWhatHappenedBefore() {
    publish("a", 1);
    publish("a", 2);
    EtcdStore late = EtcdStore.open(settings);
    try {
      awaitEvents(late.events(), 2);
    } finally {
      get(late.close());
    }
  }

  @Test
  void prefixesDoNotSeeEachOther() {
    publish("a", 1);
    EtcdStore stranger = EtcdStore.open(settings(etcd.endpoints(), "/stranger/"));
    try {
      assertThat(get(stranger.fetch("a"))).isEmpty();
      get(stranger.ready());
      assertThat(stranger.size()).isZero();
    } finally {
      get(stranger.close());
    }
  }

  @Test
  void entryOutlivesTheReplica() {
    publish("a", 1);
    get(store.close());
    assertThat(get(other.fetch("a"))).isPresent();
    store = EtcdStore.open(settings);
    assertThat(get(store.fetch("a"))).isPresent();
  }

  @Test
  void unreachableEtcdIsExplained() {
    EtcdSettings nobody = settings(List.of(URI.create("http://127.0.0.1:1")), "/x/");
    assertThatThrownBy(() -> EtcdStore.open(nobody))
        .isInstanceOf(StoreException.class)
        .hasMessageStartingWith("etcd at http://127.0.0.1:1 cannot be used (")
        .hasMessageEndingWith("see whether a majority of its members runs and is reachable from here");
  }

  @Test
  void settingsAreChecked() {
    assertThatThrownBy(() -> settings(List.of(), "/x/")).hasMessageContaining("no endpoint");
    assertThatThrownBy(() -> settings(List.of(URI.create("localhost")), "/x/"))
        .hasMessageContaining("no URL with a port");
    assertThatThrownBy(() -> settings(etcd.endpoints(), "x")).hasMessageContaining("end in a slash");
  }

  private void publish(String name, long epoch) {
    get(
        store.publish(
            new Publication(name, epoch, 60_000, "", Labels.NONE, "", Buffer.buffer("x")), Store.EXPECT_ANYTHING));
  }

  private static void awaitEvents(EventLog log, int count) {
    long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    List<Event> events;
    do {
      events = log.read(0, 100).events();
      Thread.onSpinWait();
    } while (events.size() < count && System.nanoTime() < end);
    assertThat(events).hasSize(count);
  }
}
