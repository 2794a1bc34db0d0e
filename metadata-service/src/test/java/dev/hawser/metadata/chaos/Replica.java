/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.chaos;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.metadata.StoreConfig;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A service in a process of its own, so that it can be killed. */
public final class Replica implements AutoCloseable {
  private final String store;
  private final Path log;
  private ServerJvm jvm;

  private Replica(String store, Path log) {
    this.store = store;
    this.log = log;
    jvm = launch(0);
  }

  /** The process: serves until it is killed. */
  public static void main(String[] arguments) throws InterruptedException {
    MetadataService service =
        MetadataService.start(
            MetadataConfig.builder()
                .store(StoreConfig.parse(arguments[0]))
                .port(Integer.parseInt(arguments[1]))
                .build());
    System.out.println(service.uri());
    Thread.currentThread().join();
  }

  /** Blocks until it listens. */
  public static Replica start(String store, Path log) {
    return new Replica(store, log);
  }

  /** Where it listens. */
  public URI uri() {
    return jvm.uri();
  }

  /** What it has used of the processors. */
  public Duration cpu() {
    return jvm.cpu();
  }

  long pid() {
    return jvm.pid();
  }

  /** SIGKILL, and again on the same port. */
  void killAndRestart() {
    int port = uri().getPort();
    close();
    jvm = launch(port);
  }

  @Override
  public void close() {
    jvm.close();
  }

  private ServerJvm launch(int port) {
    return ServerJvm.start(Replica.class, List.of(store, Integer.toString(port)), log);
  }
}
