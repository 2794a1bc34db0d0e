/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.TlsContexts;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.jspecify.annotations.Nullable;

/**
 * What all handshakes of one agent share.
 *
 * @param loop their thread
 * @param pool a few threads for what takes time: transports, handlers, TLS arithmetic
 * @param identity who we are
 * @param secret ours
 * @param tls null for none
 * @param limits against peers that misbehave
 * @param log for the reasons why connections ended
 */
record BootstrapContext(
    BootstrapLoop loop,
    Executor pool,
    Identity identity,
    Secret secret,
    @Nullable SSLContext tls,
    BootstrapLimits limits,
    LimitedLog log) {

  FrameChannel channel(int fd, String description, boolean client) {
    return new FrameChannel(fd, description, loop.scratch(), engine(client));
  }

  private @Nullable SSLEngine engine(boolean client) {
    return tls == null ? null : TlsContexts.engine(tls, client);
  }
}
