/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.sidecar.Sidecar;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
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
  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--socket", paramLabel = "PATH", required = true,
      description = "Where workers connect; made with mode 0600, taken over from an agent that was killed, removed at the end.")
  private @Nullable Path socket;

  @Option(names = "--drain", paramLabel = "TIME", defaultValue = "5s",
      description = "After SIGTERM: how long transfers that are under way may take; nothing new begins (${DEFAULT-VALUE}).")
  private Duration drain = Duration.ofSeconds(5);

  @Option(names = "--until-stdin-ends", hidden = true)
  private boolean untilStdinEnds;

  @Override
  public Integer call() throws InterruptedException, IOException {
    Path path = Optional.ofNullable(socket).orElseThrow(() -> new UsageException("--socket is missing"));
    try (UntilSignal signal = UntilSignal.install(); Sidecar sidecar = Sidecar.start(path)) {
      PrintWriter out = spec.commandLine().getOut();
      out.println("hawser agent: unix:" + path);
      out.flush();
      if (untilStdinEnds) {
        while (System.in.read() >= 0) {
          // Nothing is said this way but the end.
        }
      } else {
        signal.await();
      }
      int cut = sidecar.drain(drain);
      if (cut > 0) {
        spec.commandLine().getErr().println("hawser agent: " + cut + (cut == 1 ? " transfer was" : " transfers were")
            + " still under way after " + drain.toMillis() + " ms, and " + (cut == 1 ? "ends" : "end") + " as CLOSED");
      }
    }
    return 0;
  }
}
