/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.testkit.conformance.LabConformance;

/** Cables that are pulled and packets that are lost, between the lab's two guests. */
class VerbsLabTest extends LabConformance {

  VerbsLabTest() {
    super(new VerbsConformanceTest.Devices());
  }
}
