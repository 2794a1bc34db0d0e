/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.TransportConformance;

/** Memory that the registries allocated: mapped by the peer, and copied by plain loads and stores. */
final class ShmMappedConformanceTest extends TransportConformance {
  ShmMappedConformanceTest() {
    super(new Mapped());
  }

  /** Of this process and the second one. */
  static final class Mapped implements Fixture {
    @Override
    public String transport() {
      return ShmTransport.NAME;
    }

    @Override
    public boolean mapped() {
      return true;
    }
  }
}
