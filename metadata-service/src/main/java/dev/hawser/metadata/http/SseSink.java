/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerResponse;
import java.util.List;

/** A response that goes on. Its close handler tells when the watcher has gone; failed writes say nothing more. */
final class SseSink implements WatchSink {
  private static final Buffer KEEPALIVE = Buffer.buffer(": still here\n\n");

  private final HttpServerResponse response;

  SseSink(HttpServerResponse response) {
    this.response = response;
  }

  @Override
  public boolean isFull() {
    return response.writeQueueFull();
  }

  @Override
  public void write(List<Buffer> events) {
    if (events.size() == 1) {
      write(events.getFirst());
      return;
    }
    Buffer joined = Buffer.buffer();
    events.forEach(joined::appendBuffer);
    write(joined);
  }

  private void write(Buffer events) {
    if (!response.closed() && !response.ended()) {
      Future<Void> _ = response.write(events);
    }
  }

  @Override
  public void writeKeepalive() {
    write(KEEPALIVE);
  }

  @Override
  public void end() {
    if (!response.closed() && !response.ended()) {
      Future<Void> _ = response.end();
    }
  }

  @Override
  public void abort() {
    Future<Void> _ = response.reset();
  }
}
