/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.TransferConformance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Over devices of this process, two rails with as many queue pairs as verbs takes by itself. */
final class VerbsFakeConformanceTest extends TransferConformance {
  @RegisterExtension
  static final FakeLibrary LIBRARY = new FakeLibrary(2);

  private static final long BYTES_PER_SECOND = 2_000_000_000;

  static {
    LIBRARY.verbs().device(0).pace(BYTES_PER_SECOND);
    LIBRARY.verbs().device(1).pace(BYTES_PER_SECOND);
  }

  VerbsFakeConformanceTest() {
    super(new Fake());
  }

  /** Both agents are in this process: another would have a fake of its own. */
  private static final class Fake implements Fixture {
    @Override
    public String transport() {
      return VerbsTransport.NAME;
    }

    @Override
    public boolean checkedByHardware() {
      return true;
    }

    @Override
    public byte[] damagedKey(byte[] key, int by) {
      return Keys.damaged(key, by);
    }
  }
}
