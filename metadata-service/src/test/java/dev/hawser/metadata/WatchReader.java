/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads server-sent events off a plain socket, chunk by chunk; every read has a deadline. */
final class WatchReader implements AutoCloseable {
  private static final int DEADLINE_MILLIS = 20_000;

  private final Socket socket;
  private final BufferedReader in;
  private final String status;

  /** One event; {@code data} is "" when there was none. */
  record Sse(String event, String id, String data) {
    long revision() {
      return Long.parseUnsignedLong(id);
    }
  }

  private WatchReader(Socket socket, BufferedReader in, String status) {
    this.socket = socket;
    this.in = in;
    this.status = status;
  }

  static WatchReader open(URI uri, String... headers) {
    try {
      Socket socket = new Socket(uri.getHost(), uri.getPort());
      socket.setSoTimeout(DEADLINE_MILLIS);
      StringBuilder request = new StringBuilder("GET " + uri.getRawPath());
      request.append(uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery()).append(" HTTP/1.1\r\nHost: test\r\n");
      for (int i = 0; i < headers.length; i += 2) {
        request.append(headers[i]).append(": ").append(headers[i + 1]).append("\r\n");
      }
      socket.getOutputStream().write(request.append("\r\n").toString().getBytes(StandardCharsets.US_ASCII));
      BufferedReader in =
          new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      String status = String.valueOf(in.readLine());
      while (!String.valueOf(in.readLine()).isEmpty()) {
        // The rest of the head.
      }
      return new WatchReader(socket, in, status);
    } catch (IOException failed) {
      throw new UncheckedIOException(uri.toString(), failed);
    }
  }

  String status() {
    return status;
  }

  Socket socket() {
    return socket;
  }

  /** The next event; comments are passed over. Null at the end. */
  @Nullable
  Sse next() {
    String event = "";
    String id = "";
    List<String> data = new ArrayList<>();
    while (true) {
      String line = line();
      if (line == null) {
        return null;
      }
      if (line.startsWith("event: ")) {
        event = line.substring(7);
      } else if (line.startsWith("id: ")) {
        id = line.substring(4);
      } else if (line.startsWith("data: ")) {
        data.add(line.substring(6));
      } else if (line.isEmpty() && !event.isEmpty()) {
        return new Sse(event, id, String.join("\n", data));
      }
    }
  }

  /** The next event, which there must be. */
  Sse take() {
    Sse sse = next();
    if (sse == null) {
      throw new AssertionError("the watch ended");
    }
    return sse;
  }

  /** A line of the stream, chunk headers left out. */
  @Nullable
  String line() {
    try {
      while (true) {
        String line = in.readLine();
        if (line == null || line.equals("0")) {
          return null;
        }
        if (!line.matches("[0-9a-f]+")) {
          return line;
        }
      }
    } catch (IOException failed) {
      throw new UncheckedIOException("watch", failed);
    }
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException failed) {
      throw new UncheckedIOException("watch", failed);
    }
  }
}
