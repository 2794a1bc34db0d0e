/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.engine.testkit.conformance.TransportConformance;

/** From the host to a device, over tcp. The driver is a fake one. */
final class StagedTcpToDeviceConformanceTest extends TransportConformance {
  StagedTcpToDeviceConformanceTest() {
    super(new StagedTcpFixture.ThereOnly());
  }
}
