/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.util.function.Consumer;

/**
 * Opens path generations for initiators: over sockets in production, over a fake network in the
 * simulation.
 */
public interface PathOpener {

  /**
   * Begins an attempt and returns at once.
   *
   * @param callback gets the result exactly once, on any thread, at the latest when the request's
   *     time is over
   */
  void open(OpenRequest request, Consumer<OpenResult> callback);
}
