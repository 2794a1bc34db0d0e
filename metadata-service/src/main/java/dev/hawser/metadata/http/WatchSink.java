/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.buffer.Buffer;

/** The connection to a watcher, as a watch sees it. */
interface WatchSink {
  /** Whether what is written now would only wait. */
  boolean isFull();

  void write(Buffer events);

  /** Something that shows life and tells nothing. */
  void writeKeepalive();

  void end();

  /** Gives the watcher up. */
  void abort();
}
