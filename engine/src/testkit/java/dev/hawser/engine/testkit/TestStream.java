/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.BootstrapStream;
import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/** One end of a socket, as the bootstrap hands it over. */
public record TestStream(int fd) implements BootstrapStream {

  @Override
  public boolean encrypted() {
    return false;
  }

  @Override
  public @Nullable SSLEngine tls() {
    return null;
  }

  @Override
  public String description() {
    return "test stream " + fd;
  }

  @Override
  public void close() {
    Sockets.close(fd);
  }
}
