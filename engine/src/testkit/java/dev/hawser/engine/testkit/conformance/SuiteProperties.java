/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import java.time.Duration;

/** System properties by which a lab tells the suite where it runs; processes that it starts here have them, too. */
final class SuiteProperties {
  static final String PREFIX = "hawser.conformance.";

  /** {@code host:port} of a {@link PeerHost} that starts the other processes; without, they are children of this one. */
  private static final String PEER_HOST = PREFIX + "peer-host";

  /** Where engines of this process listen, in place of what the fixture says. */
  private static final String LISTEN = PREFIX + "listen";

  /** Where a lab takes orders, that can spoil the network. */
  private static final String LAB = PREFIX + "lab";

  /** How many times slower than a usual machine this one may be: an emulated one does not run a process for a second. */
  private static final String SLOWNESS = PREFIX + "slowness";

  private SuiteProperties() {}

  static String peerHost() {
    return System.getProperty(PEER_HOST, "");
  }

  static String listen(String otherwise) {
    return System.getProperty(LISTEN, otherwise);
  }

  static String lab() {
    return System.getProperty(LAB, "");
  }

  /** A time that a usual machine keeps, for this one. */
  static Duration times(long seconds) {
    return Duration.ofSeconds(seconds * Integer.getInteger(SLOWNESS, 1));
  }
}
