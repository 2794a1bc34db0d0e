/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import dev.hawser.metadata.auth.Authentication;
import dev.hawser.metadata.http.Front;
import dev.hawser.metadata.http.FrontState;
import dev.hawser.metadata.http.HttpSettings;
import dev.hawser.metadata.http.Rehearsal;
import dev.hawser.metadata.http.TlsSettings;
import dev.hawser.metadata.store.Store;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import java.net.InetAddress;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A running metadata service: where agents publish themselves and find each other. What it serves is described in
 * {@code docs/metadata-service.md}.
 *
 * <p>Safe for use by any thread but its own event loops. It keeps the process alive until it is closed.
 */
public final class MetadataService implements AutoCloseable {
  private static final Duration START_DEADLINE = Duration.ofSeconds(30);

  /** Beyond the grace that running requests get. */
  private static final Duration STOP_DEADLINE = Duration.ofSeconds(10);

  private final MetadataConfig config;
  private final Vertx vertx;
  private final Store store;
  private final FrontState state;
  private final AtomicBoolean closed = new AtomicBoolean();

  private MetadataService(MetadataConfig config, Vertx vertx, Store store, FrontState state) {
    this.config = config;
    this.vertx = vertx;
    this.store = store;
    this.state = state;
  }

  /**
   * Starts a service and returns when it listens.
   *
   * @throws MetadataException when it cannot listen, or cannot use its store, on one line that says why
   */
  public static MetadataService start(MetadataConfig config) {
    Authentication authentication = Listener.admission(config);
    Store store = Stores.open(config);
    Vertx vertx = Vertx.vertx(options(config));
    FrontState state = new FrontState(authentication);
    MetadataService service = new MetadataService(config, vertx, store, state);
    HttpSettings settings = settings(config);
    try {
      await(
          vertx.deployVerticle(
              () -> new Front(store, settings, state), new DeploymentOptions().setInstances(config.eventLoops())),
          START_DEADLINE);
    } catch (ExecutionException | TimeoutException failed) {
      service.close();
      throw Listener.cannotListen(config, failed);
    }
    Reloads reloads = new Reloads(vertx);
    config.tokens().ifPresent(file -> reloads.watch(file, authentication));
    TlsSettings tls = settings.tls();
    if (tls == null) {
      Rehearsal.begin(InetAddress.getLoopbackAddress(), state.port());
    } else {
      config.tls().ifPresent(files -> reloads.watch(files, tls, state));
    }
    return service;
  }

  /** Where it listens, as agents are told: {@code http://HOST:PORT}, or https. A wildcard address is given as it was set. */
  public URI uri() {
    String host = config.host();
    return URI.create((config.tls().isPresent() ? "https://" : "http://")
        + (host.contains(":") ? "[" + host + "]" : host) + ":" + state.port());
  }

  /** The port that it listens on. */
  public int port() {
    return state.port();
  }

  /**
   * Says that it is not ready, serves on for the configured delay so that those who ask for that send nobody any more,
   * takes leave of the watchers, lets running requests end within the configured grace, and releases everything. The
   * second call does nothing.
   */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    state.drain(config.shutdownGrace().toMillis());
    try {
      long delay = config.shutdownDelay().toMillis();
      if (delay > 0) {
        await(vertx.timer(delay), config.shutdownDelay().plus(STOP_DEADLINE));
      }
      await(vertx.close().eventually(store::close), config.shutdownGrace().plus(STOP_DEADLINE));
    } catch (ExecutionException | TimeoutException failed) {
      throw new MetadataException(
          "The metadata service on port " + state.port() + " did not stop cleanly (" + failed
              + "); end the process if its port stays taken",
          failed);
    }
  }

  private static <T> T await(Future<T> future, Duration deadline) throws ExecutionException, TimeoutException {
    boolean interrupted = false;
    long end = System.nanoTime() + deadline.toNanos();
    try {
      while (true) {
        try {
          return future.toCompletionStage().toCompletableFuture().get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException later) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static VertxOptions options(MetadataConfig config) {
    // No file is served from the class path, and nothing blocks: no cache folder, and hardly any worker.
    return new VertxOptions()
        .setEventLoopPoolSize(config.eventLoops())
        .setWorkerPoolSize(1)
        .setInternalBlockingPoolSize(1)
        .setFileSystemOptions(new FileSystemOptions().setClassPathResolvingEnabled(false).setFileCachingEnabled(false));
  }

  private static HttpSettings settings(MetadataConfig config) {
    return new HttpSettings(
        config.host(),
        config.port(),
        config
            .tls()
            .map(tls -> new TlsSettings(tls.certificate(), tls.key(), tls.clientAuthorities().orElse(null),
                tls.clientsMust()))
            .orElse(null),
        Stores.maxBlobBytes(config),
        config.maxConnections(),
        config.maxWatchers(),
        config.watchKeepalive().toMillis(),
        config.requestTimeout().toMillis(),
        config.idleTimeout().toMillis());
  }
}
