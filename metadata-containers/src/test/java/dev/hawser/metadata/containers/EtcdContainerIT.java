/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.containers;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.hawser.metadata.etcd.EtcdSettings;
import dev.hawser.metadata.etcd.EtcdStore;
import dev.hawser.metadata.store.Store;
import dev.hawser.metadata.store.StoreConformance;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.junit.jupiter.Testcontainers;

/** The suite of every store, on an etcd in a container. Skipped where there is no Docker. */
@Testcontainers(disabledWithoutDocker = true)
class EtcdContainerIT extends StoreConformance {
  private static final int PORT = 2379;
  private static final AtomicInteger PREFIXES = new AtomicInteger();

  private static GenericContainer<?> etcd;
  private EtcdStore store;
  private EtcdStore other;

  @BeforeAll
  static void startEtcd() throws IOException, InterruptedException {
    assumeTrue(EtcdImage.binary().isPresent(), EtcdImage.HOW_TO_ENABLE);
    etcd =
        new GenericContainer<>(EtcdImage.image())
            .withExposedPorts(PORT)
            .withCommand(
                "/usr/bin/etcd",
                "--data-dir=/data",
                "--listen-client-urls=http://0.0.0.0:" + PORT,
                "--advertise-client-urls=http://0.0.0.0:" + PORT)
            .waitingFor(Wait.forHttp("/health").forPort(PORT).withStartupTimeout(Duration.ofSeconds(60)));
    etcd.start();
  }

  @AfterAll
  static void stopEtcd() {
    if (etcd != null) {
      etcd.stop();
    }
  }

  @BeforeEach
  void open() {
    URI endpoint = URI.create("http://" + etcd.getHost() + ":" + etcd.getMappedPort(PORT));
    EtcdSettings settings =
        new EtcdSettings(
            List.of(endpoint),
            "/test" + PREFIXES.incrementAndGet() + "/",
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            1_000);
    store = EtcdStore.open(settings);
    other = EtcdStore.open(settings);
  }

  @AfterEach
  void close() {
    get(store.close());
    get(other.close());
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
}
