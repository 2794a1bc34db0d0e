/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.testkit.conformance.TransferConformance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** From device to device, through slots, over fake NICs and a fake driver of this process. */
final class StagedVerbsConformanceTest extends TransferConformance {
  @RegisterExtension
  static final FakeLibrary LIBRARY = new FakeLibrary(2);

  StagedVerbsConformanceTest() {
    super(new StagedVerbsFixture.BothSides());
  }
}
