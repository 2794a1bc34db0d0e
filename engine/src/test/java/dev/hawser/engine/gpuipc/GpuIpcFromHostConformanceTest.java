/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.testkit.conformance.TransportConformance;

/** Memory of the host here, of a device there. The driver is a fake one. */
final class GpuIpcFromHostConformanceTest extends TransportConformance {
  GpuIpcFromHostConformanceTest() {
    super(new FakeGpuFixture.HostHere());
  }
}
