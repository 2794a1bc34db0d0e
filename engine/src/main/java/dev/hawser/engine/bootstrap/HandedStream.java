/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.BootstrapStream;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/** The socket of a handshake that came to its end, on its way to the transport. */
final class HandedStream implements BootstrapStream {
  private final int fd;
  private final @Nullable SSLEngine tls;
  private final String description;
  private final AtomicBoolean closed = new AtomicBoolean();

  HandedStream(FrameChannel channel) {
    this.fd = channel.fd();
    this.tls = channel.tls() == null ? null : channel.tls().engine();
    this.description = channel.description();
  }

  @Override
  public int fd() {
    return fd;
  }

  @Override
  public boolean encrypted() {
    return tls != null;
  }

  @Override
  public @Nullable SSLEngine tls() {
    return tls;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      Sockets.close(fd);
    }
  }
}
