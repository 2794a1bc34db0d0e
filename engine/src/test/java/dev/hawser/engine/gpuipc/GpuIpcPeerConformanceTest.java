/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.testkit.conformance.TransportConformance;

/** Two agents on a device each. The driver is a fake one. */
final class GpuIpcPeerConformanceTest extends TransportConformance {
  GpuIpcPeerConformanceTest() {
    super(new FakeGpuFixture.TwoDevices());
  }
}
