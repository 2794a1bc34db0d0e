/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import java.nio.ByteBuffer;

/** What staging needs of the path that it is for. */
interface Line {
  /** Sends a message to the other end; false if there is no room for it now. */
  boolean say(ByteBuffer message);

  /** Data were posted in its queue. */
  void posted();
}
