/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * How a metadata service runs.
 *
 * @param host to listen on: a name or an address; nothing but loopback by default
 * @param port to listen on; 0 takes a free one
 * @param eventLoops threads that serve requests
 * @param maxBlobBytes of one publication
 * @param maxAgents entries
 * @param maxStoredBytes all entries together
 * @param historyEvents events that a watch can resume over
 * @param maxConnections open at once
 * @param maxWatchers open at once
 * @param watchKeepalive between two signs of life on a watch
 * @param requestTimeout within which a request has to arrive, head and body
 * @param idleTimeout after which a connection without a request is closed
 * @param shutdownDelay how long the service goes on after it began to say that it is not ready, before it closes
 * @param shutdownGrace how long requests that run may take when the service closes
 * @param tls of the listener
 * @param tokens file of bearer tokens and their roles; read again within seconds when it changes
 * @param allowAnonymous lets anyone do anything beyond loopback, too, where neither tokens nor client certificates are
 *     asked for
 * @param store where entries are kept
 */
public record MetadataConfig(
    String host,
    int port,
    int eventLoops,
    int maxBlobBytes,
    int maxAgents,
    long maxStoredBytes,
    int historyEvents,
    int maxConnections,
    int maxWatchers,
    Duration watchKeepalive,
    Duration requestTimeout,
    Duration idleTimeout,
    Duration shutdownDelay,
    Duration shutdownGrace,
    Optional<TlsConfig> tls,
    Optional<Path> tokens,
    boolean allowAnonymous,
    StoreConfig store) {

  /** Largest value of {@link #maxBlobBytes}, bytes. */
  public static final int LARGEST_BLOB = 64 << 20;

  private static final MetadataConfig DEFAULTS =
      new MetadataConfig(
          "127.0.0.1",
          0,
          1,
          8 << 20,
          100_000,
          1L << 30,
          16_384,
          16_384,
          10_000,
          Duration.ofSeconds(15),
          Duration.ofSeconds(10),
          Duration.ofSeconds(60),
          Duration.ZERO,
          Duration.ofSeconds(5),
          Optional.empty(),
          Optional.empty(),
          false,
          new StoreConfig.Memory());

  /**
   * Checks the limits.
   *
   * @throws IllegalArgumentException when a value is out of its limits
   */
  public MetadataConfig {
    within("port", port, 0, 65_535);
    within("eventLoops", eventLoops, 1, 256);
    within("maxBlobBytes", maxBlobBytes, 1, LARGEST_BLOB);
    within("maxAgents", maxAgents, 1, 10_000_000);
    within("maxStoredBytes", maxStoredBytes, 1, 1L << 40);
    within("historyEvents", historyEvents, 1, 1 << 24);
    within("maxConnections", maxConnections, 1, 1_000_000);
    within("maxWatchers", maxWatchers, 1, 1_000_000);
    within("watchKeepalive", watchKeepalive.toMillis(), 10, 3_600_000);
    within("requestTimeout", requestTimeout.toMillis(), 10, 3_600_000);
    within("idleTimeout", idleTimeout.toMillis(), 10, 86_400_000);
    within("shutdownDelay", shutdownDelay.toMillis(), 0, 3_600_000);
    within("shutdownGrace", shutdownGrace.toMillis(), 0, 3_600_000);
  }

  private static void within(String name, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(name + " is " + value + "; give " + min + " to " + max);
    }
  }

  /** 127.0.0.1, a free port, entries in memory. */
  public static MetadataConfig defaults() {
    return DEFAULTS;
  }

  /** A builder that begins with the defaults. */
  public static Builder builder() {
    return new Builder(DEFAULTS);
  }

  /** Collects values. Not safe for use by several threads. */
  public static final class Builder {
    private String host;
    private int port;
    private int eventLoops;
    private int maxBlobBytes;
    private int maxAgents;
    private long maxStoredBytes;
    private int historyEvents;
    private int maxConnections;
    private int maxWatchers;
    private Duration watchKeepalive;
    private Duration requestTimeout;
    private Duration idleTimeout;
    private Duration shutdownDelay;
    private Duration shutdownGrace;
    private Optional<TlsConfig> tls;
    private Optional<Path> tokens;
    private boolean allowAnonymous;
    private StoreConfig store;

    private Builder(MetadataConfig from) {
      host = from.host;
      port = from.port;
      eventLoops = from.eventLoops;
      maxBlobBytes = from.maxBlobBytes;
      maxAgents = from.maxAgents;
      maxStoredBytes = from.maxStoredBytes;
      historyEvents = from.historyEvents;
      maxConnections = from.maxConnections;
      maxWatchers = from.maxWatchers;
      watchKeepalive = from.watchKeepalive;
      requestTimeout = from.requestTimeout;
      idleTimeout = from.idleTimeout;
      shutdownDelay = from.shutdownDelay;
      shutdownGrace = from.shutdownGrace;
      tls = from.tls;
      tokens = from.tokens;
      allowAnonymous = from.allowAnonymous;
      store = from.store;
    }

    /** {@link MetadataConfig#host}. */
    public Builder host(String value) {
      host = value;
      return this;
    }

    /** {@link MetadataConfig#port}. */
    public Builder port(int value) {
      port = value;
      return this;
    }

    /** {@link MetadataConfig#eventLoops}. */
    public Builder eventLoops(int value) {
      eventLoops = value;
      return this;
    }

    /** {@link MetadataConfig#maxBlobBytes}. */
    public Builder maxBlobBytes(int value) {
      maxBlobBytes = value;
      return this;
    }

    /** {@link MetadataConfig#maxAgents}. */
    public Builder maxAgents(int value) {
      maxAgents = value;
      return this;
    }

    /** {@link MetadataConfig#maxStoredBytes}. */
    public Builder maxStoredBytes(long value) {
      maxStoredBytes = value;
      return this;
    }

    /** {@link MetadataConfig#historyEvents}. */
    public Builder historyEvents(int value) {
      historyEvents = value;
      return this;
    }

    /** {@link MetadataConfig#maxConnections}. */
    public Builder maxConnections(int value) {
      maxConnections = value;
      return this;
    }

    /** {@link MetadataConfig#maxWatchers}. */
    public Builder maxWatchers(int value) {
      maxWatchers = value;
      return this;
    }

    /** {@link MetadataConfig#watchKeepalive}. */
    public Builder watchKeepalive(Duration value) {
      watchKeepalive = value;
      return this;
    }

    /** {@link MetadataConfig#requestTimeout}. */
    public Builder requestTimeout(Duration value) {
      requestTimeout = value;
      return this;
    }

    /** {@link MetadataConfig#idleTimeout}. */
    public Builder idleTimeout(Duration value) {
      idleTimeout = value;
      return this;
    }

    /** {@link MetadataConfig#shutdownDelay}. */
    public Builder shutdownDelay(Duration value) {
      shutdownDelay = value;
      return this;
    }

    /** {@link MetadataConfig#shutdownGrace}. */
    public Builder shutdownGrace(Duration value) {
      shutdownGrace = value;
      return this;
    }

    /** {@link MetadataConfig#tls}. */
    public Builder tls(TlsConfig value) {
      tls = Optional.of(value);
      return this;
    }

    /** {@link MetadataConfig#tokens}. */
    public Builder tokens(Path value) {
      tokens = Optional.of(value);
      return this;
    }

    /** {@link MetadataConfig#allowAnonymous}. */
    public Builder allowAnonymous(boolean value) {
      allowAnonymous = value;
      return this;
    }

    /** {@link MetadataConfig#store}. */
    public Builder store(StoreConfig value) {
      store = value;
      return this;
    }

    /**
     * What was collected.
     *
     * @throws IllegalArgumentException when a value is out of its limits
     */
    public MetadataConfig build() {
      return new MetadataConfig(
          host,
          port,
          eventLoops,
          maxBlobBytes,
          maxAgents,
          maxStoredBytes,
          historyEvents,
          maxConnections,
          maxWatchers,
          watchKeepalive,
          requestTimeout,
          idleTimeout,
          shutdownDelay,
          shutdownGrace,
          tls,
          tokens,
          allowAnonymous,
          store);
    }
  }
}
