/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathFault;

/** What came of an attempt to open a path generation. */
public sealed interface OpenResult {

  /** It is open. */
  record Opened(Connection connection, Welcome welcome) implements OpenResult {}

  /** The target said no. */
  record Refused(Refusal refusal) implements OpenResult {}

  /** It was not reached, or the attempt broke off. */
  record Failed(PathFault fault) implements OpenResult {}
}
