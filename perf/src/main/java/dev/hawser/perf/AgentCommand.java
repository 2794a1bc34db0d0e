/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.sidecar.Sidecar;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the engine for processes that want no JVM of their own, until a signal ends it. */
@Command(name = "agent", mixinStandardHelpOptions = true, versionProvider = Version.class, sortOptions = false,
    description = "Runs the engine for Python workers that want no JVM in their process: hawser.Agent(name, sidecar=\"unix:PATH\"). Its first line of output says that it listens.",
    footer = {"",
        "Only processes of the same user may connect. Memory has to be shared with it: agent.allocate gives some.",
        "What a worker made here ends with that worker, however it ended."})
final class AgentCommand implements Callable<Integer> {
  private static final String SCHEME = "unix:";

  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--socket", paramLabel = "PATH", required = true,
      description = "Where workers connect; made with mode 0600, taken over from an agent that was killed, removed at the end.")
  private @Nullable String socket;

  @Option(names = "--drain", paramLabel = "TIME", defaultValue = "5s",
      description = "After SIGTERM: how long transfers that are under way may take; nothing new begins (${DEFAULT-VALUE}).")
  private Duration drain = Duration.ofSeconds(5);

  @Option(names = "--until-stdin-ends", hidden = true)
  private boolean untilStdinEnds;

  @Override
  public Integer call() throws InterruptedException {
    String given = Optional.ofNullable(socket).orElseThrow(() -> new UsageException("--socket is missing"));
    // As workers name it.
    String name = given.startsWith(SCHEME) ? given.substring(SCHEME.length()) : given;
    if (name.isEmpty()) {
      throw new UsageException("--socket is empty: give a path, such as /run/hawser/agent.sock");
    }
    Path path = Path.of(name);
    try (UntilSignal signal = UntilSignal.install(); Sidecar sidecar = Sidecar.start(path)) {
      PrintWriter out = spec.commandLine().getOut();
      out.println("hawser agent: unix:" + path);
      out.flush();
      if (untilStdinEnds) {
        Thread.ofPlatform().name("hawser-stdin").daemon().start(() -> untilStdinEnds(signal));
      }
      CompletableFuture<RuntimeException> failure = sidecar.failure().toCompletableFuture();
      CompletableFuture<Void> _ = failure.thenRun(signal::release);
      signal.await();
      int cut = sidecar.drain(drain);
      if (cut > 0) {
        spec.commandLine().getErr().println("hawser agent: " + cut + (cut == 1 ? " transfer was" : " transfers were")
            + " still under way after " + drain.toMillis() + " ms, and " + (cut == 1 ? "ends" : "end") + " as CLOSED");
      }
      if (failure.isDone()) {
        throw failure.join(); // so that a supervisor starts another
      }
    }
    return 0;
  }

  private static void untilStdinEnds(UntilSignal signal) {
    try {
      while (System.in.read() >= 0) {
        // Nothing is said this way but the end.
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      signal.release();
    }
  }
}
