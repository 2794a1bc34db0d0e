/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import java.nio.file.Path;
import java.time.Duration;

/**
 * A sidecar as a process of its own, where there is no command line: {@code python -m hawser.sidecar} starts it. Takes the
 * path of the socket; its first line of output says that it listens. On a signal it lets transfers that are under way end
 * for some seconds, and goes.
 */
final class Main {
  private static final Duration DRAIN = Duration.ofSeconds(5);
  private static final int FAILED = 1;
  private static final int USAGE = 2;

  private Main() {}

  public static void main(String[] arguments) {
    if (arguments.length != 1) {
      System.err.println("hawser.sidecar: give the path of the socket, such as /run/hawser/agent.sock");
      System.exit(USAGE);
    }
    Sidecar sidecar = started(arguments[0]);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> end(sidecar), "hawser-end"));
    System.out.println("hawser sidecar: " + arguments[0]);
    System.err.println("hawser.sidecar: " + sidecar.failure().toCompletableFuture().join().getMessage());
    System.exit(FAILED); // so that a supervisor starts another
  }

  private static Sidecar started(String path) {
    try {
      return Sidecar.start(Path.of(path));
    } catch (SidecarException e) {
      System.err.println("hawser.sidecar: " + e.getMessage());
      System.exit(FAILED);
      throw e;
    }
  }

  private static void end(Sidecar sidecar) {
    int cut = sidecar.drain(DRAIN);
    if (cut > 0) {
      System.err.println("hawser.sidecar: " + cut + " transfers were still under way after " + DRAIN.toSeconds()
          + " s, and end as CLOSED");
    }
    sidecar.close();
  }
}
