/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import org.junit.jupiter.api.AfterEach;

class MemoryStoreConformanceTest extends StoreConformance {
  private final MemoryStore store = new MemoryStore(StoreLimits.DEFAULT, MonotonicClock.SYSTEM, 1_000).start();

  @AfterEach
  void close() {
    get(store.close());
  }

  @Override
  protected long shortMillis() {
    return 300;
  }

  @Override
  protected Store store() {
    return store;
  }

  @Override
  protected Store other() {
    return store;
  }
}
