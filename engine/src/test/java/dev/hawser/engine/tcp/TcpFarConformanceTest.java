/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.testkit.conformance.FarConformance;

/** With the target in another process. */
class TcpFarConformanceTest extends FarConformance {

  TcpFarConformanceTest() {
    super(new TcpConformanceTest.Ipv4());
  }
}
