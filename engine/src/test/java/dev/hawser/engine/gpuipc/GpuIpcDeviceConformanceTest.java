/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.testkit.conformance.TransportConformance;

/** Two agents on one device. The driver is a fake one. */
final class GpuIpcDeviceConformanceTest extends TransportConformance {
  GpuIpcDeviceConformanceTest() {
    super(new FakeGpuFixture.OneDevice());
  }
}
