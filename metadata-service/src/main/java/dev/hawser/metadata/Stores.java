/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import dev.hawser.metadata.etcd.EtcdSettings;
import dev.hawser.metadata.etcd.EtcdStore;
import dev.hawser.metadata.store.MemoryStore;
import dev.hawser.metadata.store.MonotonicClock;
import dev.hawser.metadata.store.Store;
import dev.hawser.metadata.store.StoreException;
import dev.hawser.metadata.store.StoreLimits;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Opens the store that a configuration asks for. */
final class Stores {
  private Stores() {}

  /**
   * Blocks for as long as the store needs to be there.
   *
   * @throws MetadataException when it cannot be used
   */
  static Store open(MetadataConfig config) {
    return switch (config.store()) {
      case StoreConfig.Memory memory ->
        new MemoryStore(
            new StoreLimits(config.maxAgents(), config.maxStoredBytes(), config.historyEvents()),
            MonotonicClock.SYSTEM,
            firstRevision())
            .start();
      case StoreConfig.Etcd etcd -> open(etcd, config.historyEvents());
    };
  }

  private static Store open(StoreConfig.Etcd etcd, int historyEvents) {
    try {
      return EtcdStore.open(
          new EtcdSettings(
              etcd.endpoints(), etcd.prefix(), etcd.authorities(), etcd.certificate(), etcd.key(), historyEvents));
    } catch (StoreException | IllegalArgumentException unusable) {
      throw new MetadataException("The metadata service cannot start: " + unusable.getMessage(), unusable);
    }
  }

  /** Of one publication, bytes. */
  static int maxBlobBytes(MetadataConfig config) {
    return switch (config.store()) {
      case StoreConfig.Memory memory -> config.maxBlobBytes();
      case StoreConfig.Etcd etcd -> Math.min(config.maxBlobBytes(), EtcdStore.MAX_BLOB);
    };
  }

  /** Greater than any revision of an earlier life, unless that changed something every microsecond. */
  private static long firstRevision() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }
}
