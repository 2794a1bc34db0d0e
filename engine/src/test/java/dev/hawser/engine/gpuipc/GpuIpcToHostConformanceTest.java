/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.testkit.conformance.TransportConformance;

/** Memory of a device here, of the host there. The driver is a fake one. */
final class GpuIpcToHostConformanceTest extends TransportConformance {
  GpuIpcToHostConformanceTest() {
    super(new FakeGpuFixture.HostThere());
  }
}
