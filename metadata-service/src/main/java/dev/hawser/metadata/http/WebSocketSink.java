/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ServerWebSocket;
import java.util.List;

/** A WebSocket with one text message for each event. Its close handler tells when the watcher has gone. */
final class WebSocketSink implements WatchSink {
  /** RFC 6455, 7.4.1: the server goes away. */
  private static final short GOING_AWAY = 1001;

  /** RFC 6455, 7.4.1: the peer breaks a rule, here that of reading. */
  private static final short POLICY = 1008;

  private static final Buffer NOTHING = Buffer.buffer();

  private final ServerWebSocket socket;

  WebSocketSink(ServerWebSocket socket) {
    this.socket = socket;
  }

  @Override
  public boolean isFull() {
    return socket.writeQueueFull();
  }

  @Override
  public void write(List<Buffer> events) {
    for (Buffer event : events) {
      if (!socket.isClosed()) {
        Future<Void> _ = socket.writeTextMessage(event.toString());
      }
    }
  }

  @Override
  public void writeKeepalive() {
    if (!socket.isClosed()) {
      Future<Void> _ = socket.writePing(NOTHING);
    }
  }

  @Override
  public void end() {
    if (!socket.isClosed()) {
      Future<Void> _ = socket.close(GOING_AWAY, "shutting down");
    }
  }

  @Override
  public void abort() {
    Future<Void> _ = socket.close(POLICY, "too slow");
  }
}
