/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import java.util.concurrent.CountDownLatch;

/** A metadata service for the demonstration: prints where it is, and serves until it is ended. */
final class MetadataMain {
  private MetadataMain() {}

  /** Serves at a free port of the loopback interface. */
  public static void main(String[] args) throws InterruptedException {
    MetadataService service = MetadataService.start(MetadataConfig.builder().port(0).build());
    Runtime.getRuntime().addShutdownHook(new Thread(service::close, "close"));
    System.out.println("ready " + service.uri());
    new CountDownLatch(1).await();
  }
}
