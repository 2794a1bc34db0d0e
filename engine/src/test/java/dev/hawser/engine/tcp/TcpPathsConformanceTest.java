/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.TransferConformance;
import java.util.List;

/** Two rails with three connections each: every transfer is spread over six paths. */
final class TcpPathsConformanceTest extends TransferConformance {
  TcpPathsConformanceTest() {
    super(new Paths());
  }

  /** Of this process and the second one. */
  static final class Paths implements Fixture {
    @Override
    public String transport() {
      return TcpTransport.NAME;
    }

    @Override
    public List<String> listen() {
      return List.of("127.0.0.1:0", "127.0.0.2:0");
    }

    @Override
    public int pathsPerRoute() {
      return 3;
    }
  }
}
