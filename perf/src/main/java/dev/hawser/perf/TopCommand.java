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
  public Integer call() throws InterruptedException {
    if (interval.compareTo(Duration.ofMillis(10)) < 0) {
      throw new UsageException("--interval must be 10ms or more");
    }
    List<Followed> followed = files().stream().map(Followed::new).toList();
    PrintWriter out = spec.commandLine().getOut();
    FlowTable table = new FlowTable();
    CountDownLatch never = new CountDownLatch(1);
    do {
      followed.forEach(file -> file.read(table));
      out.print((once ? "" : CLEAR) + table.text());
      out.flush();
    } while (!once && !never.await(interval.toNanos(), TimeUnit.NANOSECONDS));
    return 0;
  }

  /** A file that is followed; one that is something else is told, instead of a table that stays empty. */
  private static final class Followed {
    private final Path file;
    private final FileTail tail;
    private boolean isKnown;

    Followed(Path file) {
      if (Files.isDirectory(file)) {
        throw new UsageException(
            file + " is a folder; name the file that an agent writes, the one that its HAWSER_TELEMETRY names");
      }
      if (!Files.isReadable(file)) {
        throw new UsageException("there is no file " + file + " to read; start an agent with HAWSER_TELEMETRY=" + file);
      }
      this.file = file;
      this.tail = new FileTail(file);
    }

    void read(FlowTable table) {
      int[] foreign = {0};
      try {
        tail.read(line -> {
          if (table.add(line)) {
            isKnown = true;
          } else {
            foreign[0]++;
          }
        });
      } catch (IOException e) {
        throw new UsageException(file + " cannot be read (" + e.getMessage() + ")", e);
      }
      if (!isKnown && (foreign[0] > 0 || tail.holdsForeignBytes())) {
        throw new UsageException(
            file + " holds no line that an agent wrote; name the file that an agent's HAWSER_TELEMETRY names");
      }
    }
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
