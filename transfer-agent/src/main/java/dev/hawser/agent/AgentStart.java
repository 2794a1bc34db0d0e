/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.agent.config.HawserConfig;
import dev.hawser.agent.http.TlsSockets;
import dev.hawser.agent.metadata.EpochConflictException;
import dev.hawser.agent.metadata.MetadataClient;
import dev.hawser.agent.metadata.MetadataHead;
import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.memory.MemoryRegistry;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Starts an agent: finds an epoch above every one that is recorded for its name, starts the engine, makes sure that
 * nobody who is alive has the name, and takes it.
 */
final class AgentStart {
  private static final System.Logger LOG = System.getLogger(Agent.class.getName());
  /** How long the recorded holder of a name has to answer. */
  private static final Duration SILENCE = Duration.ofMillis(500);
  private static final int ATTEMPTS = 5;

  private final HawserConfig config;
  private final Supplier<MemoryRegistry> registries;
  private final EngineStarter starter;
  private final Callbacks callbacks;
  private final AgentListener listener;

  AgentStart(
      HawserConfig config, Supplier<MemoryRegistry> registries, EngineStarter starter, Callbacks callbacks,
      AgentListener listener) {
    this.config = config;
    this.registries = registries;
    this.starter = starter;
    this.callbacks = callbacks;
    this.listener = listener;
  }

  Agent start() {
    for (String warning : config.warnings()) {
      LOG.log(Level.WARNING, warning);
    }
    if (config.metadata().isEmpty()) {
      return startEngine(registries.get(), null, now());
    }
    MetadataClient client =
        new MetadataClient(config.metadata(), config.metadataTimeout(), config.metadataToken(),
            TlsSockets.factory(config.tls()));
    boolean started = false;
    try {
      Agent agent = claim(client);
      started = true;
      return agent;
    } finally {
      if (!started) {
        client.close();
      }
    }
  }

  private Agent claim(MetadataClient client) {
    long floor = 0;
    EpochConflictException last = null;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      // The registry loads native symbols meanwhile.
      CompletableFuture<Optional<MetadataHead>> heads =
          CompletableFuture.supplyAsync(() -> client.peek(config.name()), Callbacks.VIRTUAL);
      MemoryRegistry registry = registries.get();
      Agent agent = null;
      try {
        @Nullable
        MetadataHead recorded = join(heads).orElse(null);
        long above = Math.max(floor, recorded == null ? 0 : recorded.epoch());
        agent = startEngine(registry, client, Math.max(now(), above + 1));
        if (recorded != null) {
          refuseIfAlive(agent, recorded);
        }
        agent.enter(OptionalLong.of(recorded == null ? 0 : recorded.epoch()));
        Agent entered = agent;
        agent = null;
        return entered;
      } catch (EpochConflictException e) {
        // Another newcomer was faster, or an epoch is remembered that has no entry any more: decide anew.
        last = e;
        floor = Math.max(floor, e.recordedEpoch());
      } finally {
        if (agent != null) {
          agent.close();
        }
      }
    }
    throw new AgentSupersededException(config.name(), floor,
        ATTEMPTS + " attempts to take the name lost against others, the last one: "
            + (last == null ? "" : last.getMessage()));
  }

  private static Optional<MetadataHead> join(CompletableFuture<Optional<MetadataHead>> heads) {
    try {
      return heads.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw e;
    }
  }

  private void refuseIfAlive(Agent agent, MetadataHead recorded) {
    if (recorded.address().isEmpty()) {
      return;
    }
    Optional<Engine.Identity> holder = agent.engine().probe(recorded.address(), SILENCE);
    if (holder.isPresent() && holder.get().name().isEmpty()) {
      throw new NameInUseException(config.name(), recorded.address());
    }
    if (holder.isPresent() && holder.get().name().equals(config.name()) && holder.get().epoch() != agent.epoch()) {
      throw new NameInUseException(config.name(), recorded.address(), holder.get().host(), holder.get().pid());
    }
    LOG.log(Level.INFO, "agent ''{0}'' takes over from epoch {1}, which does not answer at {2}", config.name(),
        Long.toUnsignedString(recorded.epoch()), recorded.address());
  }

  private Agent startEngine(MemoryRegistry registry, @Nullable MetadataClient client, long epoch) {
    NotificationQueue notifications = new NotificationQueue(callbacks);
    CounterTable counters = new CounterTable();
    boolean started = false;
    try {
      Engine engine =
          starter.start(engineConfig(epoch), registry, new Inbound(notifications, counters, listener, callbacks));
      started = true;
      return new Agent(config, engine, registry, client, notifications, counters, callbacks, listener);
    } finally {
      if (!started) {
        registry.close();
      }
    }
  }

  private EngineConfig engineConfig(long epoch) {
    return new EngineConfig(config.name(), epoch, config.listen(), config.transports(), config.rails(),
        config.workers(), config.pathsPerRoute(), config.linkLease(), config.heartbeat(), config.connectTimeout(),
        config.drainTime(),
        config.notificationCredits(), config.secret().bytes(), config.tls(), config.transportSettings());
  }

  /** Microseconds since 1970, the usual epoch. */
  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }
}
