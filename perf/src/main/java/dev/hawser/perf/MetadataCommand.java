/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.perf.bench.ByteSize;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the metadata service until a signal ends it. */
@Command(name = "metadata", mixinStandardHelpOptions = true, versionProvider = Version.class, sortOptions = false,
    description = "Runs the metadata service, where agents publish themselves and find each other.")
final class MetadataCommand implements Callable<Integer> {
  private static final Duration STOP = Duration.ofSeconds(30);

  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--host", paramLabel = "ADDRESS", defaultValue = "127.0.0.1",
      description = "Where to listen: only this host unless told otherwise (${DEFAULT-VALUE}).")
  private String host = "127.0.0.1";

  @Option(names = "--port", paramLabel = "PORT", defaultValue = "7300",
      description = "Port to listen on, 0 for a free one (${DEFAULT-VALUE}).")
  private int port = 7300;

  @Option(names = "--max-blob", paramLabel = "SIZE", defaultValue = "8M",
      description = "The largest publication (${DEFAULT-VALUE}).")
  private String maxBlob = "8M";

  @Option(names = "--watch-keepalive", paramLabel = "TIME", defaultValue = "15s",
      description = "Between two signs of life on a watch (${DEFAULT-VALUE}).")
  private Duration watchKeepalive = Duration.ofSeconds(15);

  @Option(names = "--until-stdin-ends", hidden = true)
  private boolean untilStdinEnds;

  @Override
  public Integer call() throws InterruptedException, IOException {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch stopped = new CountDownLatch(1);
    try (MetadataService service = MetadataService.start(config())) {
      Runtime.getRuntime().addShutdownHook(new Thread(() -> {
        end.countDown();
        awaitQuietly(stopped);
      }, "hawser-metadata-stop"));
      PrintWriter out = spec.commandLine().getOut();
      out.println("hawser metadata: " + service.uri());
      out.flush();
      if (untilStdinEnds) {
        while (System.in.read() >= 0) {
          // Nothing is said this way but the end.
        }
      } else {
        end.await();
      }
    } finally {
      stopped.countDown();
    }
    return 0;
  }

  /** The process ends when the hook does: agents are to be told before. */
  private static void awaitQuietly(CountDownLatch stopped) {
    try {
      stopped.await(STOP.toMillis(), java.util.concurrent.TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private MetadataConfig config() {
    try {
      return MetadataConfig.builder().host(host).port(port).maxBlobBytes(Math.toIntExact(ByteSize.parse(maxBlob)))
          .watchKeepalive(watchKeepalive).build();
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw new UsageException("an option is out of its limits: " + e.getMessage(), e);
    }
  }
}
