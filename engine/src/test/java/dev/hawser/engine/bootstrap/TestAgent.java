/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.wire.Capabilities;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** An agent that has nothing but its bootstrap. */
final class TestAgent implements AutoCloseable {
  static final Welcome WELCOME = new Welcome(7, 42, 3000, 1024, Capabilities.ALL);
  private static final long PATIENCE_SECONDS = 20;

  /** What the handler was told. */
  record Event(String what, Hello hello, @Nullable Welcome welcome, @Nullable Connection connection) {}

  final String name;
  final TestTransport transport;
  final SocketBootstrap bootstrap;
  final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
  volatile BiConsumer<Hello, HelloReply> decision = (hello, reply) -> reply.welcome(WELCOME);

  TestAgent(String name, String secret) {
    this(name, secret, TlsConfig.OFF, BootstrapLimits.DEFAULT, "127.0.0.1:0");
  }

  TestAgent(String name, String secret, TlsConfig tls, BootstrapLimits limits, String listen) {
    this.name = name;
    this.transport = new TestTransport(name);
    this.bootstrap = SocketBootstrap.listen(config(name, secret, tls, listen), limits);
    bootstrap.serve(
        List.of(transport),
        new HelloHandler() {
          @Override
          public void hello(Hello hello, HelloReply reply) {
            events.add(new Event("hello", hello, null, null));
            decision.accept(hello, reply);
          }

          @Override
          public void connected(Hello hello, Welcome welcome, Connection connection) {
            events.add(new Event("connected", hello, welcome, connection));
          }

          @Override
          public void abandoned(Hello hello, Welcome welcome) {
            events.add(new Event("abandoned", hello, welcome, null));
          }
        });
  }

  static EngineConfig config(String name, String secret, TlsConfig tls, String... listen) {
    return new EngineConfig(
        name,
        7,
        List.of(listen),
        List.of(),
        List.of(),
        0,
        0,
        Duration.ofSeconds(3),
        Duration.ofMillis(500),
        Duration.ofSeconds(5),
        Duration.ofMillis(20),
        1024,
        secret.getBytes(StandardCharsets.UTF_8),
        tls,
        Map.of());
  }

  String address() {
    return bootstrap.listenAddresses().getFirst();
  }

  Event next(String expected) {
    try {
      Event event = events.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
      if (event == null || !event.what().equals(expected)) {
        throw new AssertionError("expected " + expected + " at " + name + ", got " + event);
      }
      return event;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  Hello hello(String target) {
    return new Hello(name, 7, target, 7, 3, 17, new PathKey(2, 5), "test", "rail0");
  }

  OpenResult open(TestAgent target) {
    return open(hello(target.name), target.address());
  }

  OpenResult open(Hello hello, String... addresses) {
    return open(Duration.ofSeconds(PATIENCE_SECONDS), hello, addresses);
  }

  OpenResult open(Duration timeout, Hello hello, String... addresses) {
    return await(begin(timeout, hello, addresses));
  }

  CompletableFuture<OpenResult> begin(Duration timeout, Hello hello, String... addresses) {
    CompletableFuture<OpenResult> result = new CompletableFuture<>();
    bootstrap.open(
        new OpenRequest(hello, TestTransport.rail(), List.of(addresses), new byte[0], timeout.toNanos()),
        answer -> {
          if (!result.complete(answer)) {
            throw new AssertionError("a second result: " + answer);
          }
        });
    return result;
  }

  static OpenResult await(CompletableFuture<OpenResult> result) {
    return result.orTimeout(2 * PATIENCE_SECONDS, TimeUnit.SECONDS).join();
  }

  @Override
  public void close() {
    bootstrap.close();
  }
}
