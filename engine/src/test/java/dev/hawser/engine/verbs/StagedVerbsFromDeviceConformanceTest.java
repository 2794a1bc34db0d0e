/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.testkit.conformance.TransferConformance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** From and to a device here, through slots, over fake NICs and a fake driver of this process. */
final class StagedVerbsFromDeviceConformanceTest extends TransferConformance {
  @RegisterExtension
  static final FakeLibrary LIBRARY = new FakeLibrary(2);

  StagedVerbsFromDeviceConformanceTest() {
    super(new StagedVerbsFixture.HereOnly());
  }
}
