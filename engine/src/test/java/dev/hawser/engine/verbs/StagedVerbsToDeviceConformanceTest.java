/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.testkit.conformance.TransferConformance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** From and to a device there, through slots, over fake NICs and a fake driver of this process. */
final class StagedVerbsToDeviceConformanceTest extends TransferConformance {
  @RegisterExtension
  static final FakeLibrary LIBRARY = new FakeLibrary(2);

  StagedVerbsToDeviceConformanceTest() {
    super(new StagedVerbsFixture.ThereOnly());
  }
}
