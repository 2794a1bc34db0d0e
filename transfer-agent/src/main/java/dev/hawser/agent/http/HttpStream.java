/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** An answer that goes on, read line by line by one thread. {@link #close} may come from any thread. */
public final class HttpStream implements AutoCloseable {
  private static final int MAX_LINE = 64 << 10;

  private final HttpConnection connection;
  private final InputStream body;

  HttpStream(HttpConnection connection, HttpReply reply) {
    this.connection = connection;
    this.body = reply.body();
  }

  /**
   * The next line without its end, or null at the end of the stream.
   *
   * @param deadline {@code System.nanoTime()} at which to give up
   */
  public @Nullable String readLine(long deadline) throws IOException {
    connection.deadline(deadline);
    ByteArrayOutputStream line = new ByteArrayOutputStream(64);
    for (int c = body.read(); c != '\n'; c = body.read()) {
      if (c < 0) {
        return line.size() == 0 ? null : line.toString(StandardCharsets.UTF_8);
      }
      if (line.size() >= MAX_LINE) {
        throw new IOException("a line of more than " + MAX_LINE + " bytes");
      }
      if (c != '\r') {
        line.write(c);
      }
    }
    return line.toString(StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    connection.close();
  }
}
