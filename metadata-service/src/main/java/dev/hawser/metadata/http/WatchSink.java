/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.buffer.Buffer;
import java.util.List;

/** The connection to a watcher, as a watch sees it. */
interface WatchSink {
  /** Whether what is written now would only wait. */
  boolean isFull();

  /** Writes encoded events, at least one, in order. */
  void write(List<Buffer> events);

  /** Something that shows life and tells nothing. */
  void writeKeepalive();

  void end();

  /** Gives the watcher up. */
  void abort();
}
