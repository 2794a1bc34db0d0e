/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.Connection;

/** What a transport adds to a set-up. Thread-safe. */
public interface PathMaker {

  /** The transport, for messages. */
  String name();

  /** This process among the others of its host. */
  Host host();

  /** Permits a process that was verified to reach this one, where the system would not. */
  void permit(int pid);

  /** The target's answer. */
  PathAnswer answer(int bellFd);

  /**
   * Initiator: tries what every later copy needs.
   *
   * @throws dev.hawser.engine.spi.PathSetupException if it does not work
   */
  void verify(PathAnswer answer);

  /** The initiator's end; it owns what it gets, unless this throws. */
  Connection initiator(PathEnds ends);

  /** The target's end; it owns what it gets, unless this throws. */
  Connection target(PathEnds ends);
}
