/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.perf.top.FileTail;
import dev.hawser.perf.top.FlowTable;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows what flows now. */
@Command(name = "top", mixinStandardHelpOptions = true, versionProvider = Version.class, sortOptions = false,
    description = {
        "Shows what flows over each path now, with its course and what is wrong with it.",
        "It reads the files that agents write when HAWSER_TELEMETRY names one; HAWSER_TELEMETRY_INTERVAL says how often."
    })
final class TopCommand implements Callable<Integer> {
  private static final String CLEAR = "\033[H\033[2J";

  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Parameters(paramLabel = "FILE", arity = "0..*", description = "Agents' files (the one that HAWSER_TELEMETRY names).")
  private List<Path> files = new ArrayList<>();

  @Option(names = "--interval", paramLabel = "TIME", defaultValue = "1s",
      description = "How often the table is drawn again (${DEFAULT-VALUE}).")
  private Duration interval = Duration.ofSeconds(1);

  @Option(names = "--once", description = "Print what the files say now, and end.")
  private boolean once;

  @Override
  public Integer call() throws IOException, InterruptedException {
    List<FileTail> tails = new ArrayList<>();
    for (Path file : files()) {
      if (!Files.isReadable(file)) {
        throw new UsageException(
            "there is no file " + file + " to read; start an agent with HAWSER_TELEMETRY=" + file);
      }
      tails.add(new FileTail(file));
    }
    if (interval.compareTo(Duration.ofMillis(10)) < 0) {
      throw new UsageException("--interval must be 10ms or more");
    }
    PrintWriter out = spec.commandLine().getOut();
    FlowTable table = new FlowTable();
    CountDownLatch never = new CountDownLatch(1);
    do {
      for (FileTail tail : tails) {
        tail.read(table::add);
      }
      out.print((once ? "" : CLEAR) + table.text());
      out.flush();
    } while (!once && !never.await(interval.toNanos(), TimeUnit.NANOSECONDS));
    return 0;
  }

  private List<Path> files() {
    if (!files.isEmpty()) {
      return files;
    }
    String named = System.getenv("HAWSER_TELEMETRY");
    if (named == null || named.isBlank()) {
      throw new UsageException("name the file that an agent writes, or set HAWSER_TELEMETRY to it");
    }
    return List.of(Path.of(named.strip()));
  }
}
