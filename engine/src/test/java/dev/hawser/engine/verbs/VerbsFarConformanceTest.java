/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.testkit.conformance.TwoHostConformance;

/** With the peer in another process: in the lab's second guest, on another host, or else on this one. */
class VerbsFarConformanceTest extends TwoHostConformance {

  VerbsFarConformanceTest() {
    super(new VerbsConformanceTest.Devices());
  }
}
