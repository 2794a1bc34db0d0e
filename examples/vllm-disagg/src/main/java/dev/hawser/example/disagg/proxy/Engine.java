/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One engine, and how it fares. */
final class Engine {
  private static final int FAILURES_TO_BE_DOWN = 2;

  private final URI uri;
  private final Role role;
  private final AtomicInteger inFlight = new AtomicInteger();
  private final AtomicInteger failures = new AtomicInteger();
  private volatile @Nullable JsonObject kvAddress;

  Engine(URI uri, Role role) {
    this.uri = uri;
    this.role = role;
  }

  URI uri() {
    return uri;
  }

  Role role() {
    return role;
  }

  String host() {
    return uri.getHost();
  }

  int port() {
    return uri.getPort() < 0 ? 80 : uri.getPort();
  }

  /** Whether it answers. One failed look may be bad luck; a refused connection is not. */
  boolean up() {
    return failures.get() < FAILURES_TO_BE_DOWN;
  }

  void answered(@Nullable JsonObject address) {
    failures.set(0);
    if (address != null) {
      kvAddress = address;
    }
  }

  void failed() {
    failures.incrementAndGet();
  }

  void unreachable() {
    failures.set(FAILURES_TO_BE_DOWN);
  }

  /** Where its KV cache is reached, for pushes; null if it did not say. */
  @Nullable
  JsonObject kvAddress() {
    JsonObject address = kvAddress;
    return address == null ? null : address.copy();
  }

  int inFlight() {
    return inFlight.get();
  }

  void begin() {
    inFlight.incrementAndGet();
  }

  void end() {
    inFlight.decrementAndGet();
  }

  @Override
  public String toString() {
    return role.name().toLowerCase(Locale.ROOT) + " engine " + uri;
  }
}
