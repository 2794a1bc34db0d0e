/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.PathFault;

/** What came of asking an address who is there. */
public sealed interface ProbeResult {

  /** An agent answered; if a secret is set, it proved that it knows it. */
  record Found(Identity identity) implements ProbeResult {}

  /** Something answered that would not say who it is. */
  record Refused(Refusal refusal) implements ProbeResult {}

  /** Nobody answered in time, or nobody who speaks this protocol. */
  record Silent(PathFault fault) implements ProbeResult {}
}
