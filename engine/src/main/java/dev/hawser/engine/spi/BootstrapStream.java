/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/**
 * The connected stream over which two agents met. It is handed to the transport with nothing
 * unread: every byte after the handshake belongs to the transport.
 */
public interface BootstrapStream extends AutoCloseable {

  /** The non-blocking stream socket's descriptor. */
  int fd();

  /** True if the bytes on the wire are TLS records, to be moved by {@link #tls()}. */
  boolean encrypted();

  /** The TLS engine, after its handshake; null if {@link #encrypted()} is false. */
  @Nullable
  SSLEngine tls();

  /** For messages: {@code 10.0.0.1:4711 → 10.0.0.2:7000}. */
  String description();

  @Override
  void close();
}
