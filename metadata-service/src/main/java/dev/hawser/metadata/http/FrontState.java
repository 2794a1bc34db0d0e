/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.auth.Authentication;
import dev.hawser.metadata.store.Envelopes;
import dev.hawser.metadata.store.Store;
import io.vertx.core.Future;
import io.vertx.core.http.HttpServer;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** What the fronts of all event loops share. Safe for use by any thread. */
public final class FrontState {
  private static final int MAX_REQUEST_ID = 64;

  private final Authentication authentication;
  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicInteger watchers = new AtomicInteger();
  private final AtomicLong requests = new AtomicLong();
  private final String life = Integer.toHexString(ThreadLocalRandom.current().nextInt());
  private final RequestStats stats = new RequestStats();
  private final LongAdder watchResets = new LongAdder();
  private final AtomicReference<@Nullable Metrics> metrics = new AtomicReference<>();
  private volatile int port;
  private volatile @Nullable HttpServer bound;
  private volatile boolean draining;
  private volatile long graceMillis;

  /**
   * Begins with nothing open.
   *
   * @param authentication decides who gets in
   */
  public FrontState(Authentication authentication) {
    this.authentication = authentication;
  }

  Authentication authentication() {
    return authentication;
  }

  AtomicInteger connections() {
    return connections;
  }

  AtomicInteger watchers() {
    return watchers;
  }

  RequestStats stats() {
    return stats;
  }

  /** Watches that were told that they lost something. */
  LongAdder watchResets() {
    return watchResets;
  }

  /** Those of the service, the same for all event loops. */
  Metrics metrics(Store store) {
    Metrics made = new Metrics(this, store);
    return metrics.compareAndSet(null, made) ? made : Objects.requireNonNull(metrics.get());
  }

  void bound(HttpServer server) {
    port = server.actualPort();
    bound = server;
  }

  /**
   * Takes the files that TLS is made of into use anew, for connections that are made from now on.
   *
   * @return fails, and changes nothing, when they cannot be used
   */
  public Future<Boolean> reload(TlsSettings tls) {
    // The servers of all event loops share one listener: to tell one of them is enough.
    return Objects.requireNonNull(bound, "nothing listens").updateSSLOptions(tls.options(), true);
  }

  /** The port that is listened on; 0 before that. */
  public int port() {
    return port;
  }

  /** From now on the service says that it is not ready; requests that run may take so long. */
  public void drain(long millis) {
    graceMillis = millis;
    draining = true;
  }

  boolean isDraining() {
    return draining;
  }

  long graceMillis() {
    return graceMillis;
  }

  /** The client's own, if it is one, else a new one. */
  String requestId(@Nullable String given) {
    return given != null && isRequestId(given) ? given : life + "-" + requests.incrementAndGet();
  }

  private static boolean isRequestId(String text) {
    if (text.isEmpty() || text.length() > MAX_REQUEST_ID) {
      return false;
    }
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (!Envelopes.isAlphanumeric(c) && "._-".indexOf(c) < 0) {
        return false;
      }
    }
    return true;
  }
}
