/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.TransportConformance;

/** Over IPv4, as many connections as tcp takes by itself. */
final class TcpConformanceTest extends TransportConformance {
  TcpConformanceTest() {
    super(new Ipv4());
  }

  /** Of this process and the second one. */
  static final class Ipv4 implements Fixture {
    @Override
    public String transport() {
      return TcpTransport.NAME;
    }
  }
}
