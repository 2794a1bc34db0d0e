/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.agent.config.ConfigException;
import dev.hawser.perf.bench.UnknownNameException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The {@code hawser} command line.
 *
 * <p>Exit codes: 0 fine, 1 the work failed, 2 wrong usage. Errors are one line on standard error.
 */
@Command(name = "hawser",
    description = "Moves KV cache and model weights between processes, and measures how fast.",
    mixinStandardHelpOptions = true, versionProvider = Version.class, synopsisSubcommandLabel = "COMMAND",
    subcommands = {
        AgentCommand.class, BenchCommand.class, MetadataCommand.class, ConfigCommand.class, DoctorCommand.class,
        TopCommand.class,
        TopoCommand.class})
public final class Hawser implements Runnable {
  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--verbose", scope = ScopeType.INHERIT, description = "Print the stack trace of an error.")
  private boolean verbose;

  /** Runs a command and ends the process with its exit code. */
  public static void main(String... arguments) {
    System.exit(run(new PrintWriter(System.out, false, StandardCharsets.UTF_8),
        new PrintWriter(System.err, true, StandardCharsets.UTF_8), arguments));
  }

  /**
   * Runs a command.
   *
   * @param out where results go
   * @param err where errors and progress go
   * @return the exit code
   */
  static int run(PrintWriter out, PrintWriter err, String... arguments) {
    Hawser hawser = new Hawser();
    CommandLine line = new CommandLine(hawser)
        .setOut(out)
        .setErr(err)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setUsageHelpAutoWidth(true)
        .registerConverter(Duration.class, new DurationConverter())
        .registerConverter(int.class, WholeNumberConverter.ofInts())
        .registerConverter(Integer.class, WholeNumberConverter.ofInts())
        .registerConverter(long.class, WholeNumberConverter.ofLongs())
        .registerConverter(Long.class, WholeNumberConverter.ofLongs());
    line.setParameterExceptionHandler((exception, _) -> hawser.wrongUsage(exception, List.of(arguments)));
    line.setExecutionExceptionHandler((exception, command, _) -> hawser.failed(exception, command));
    try {
      return line.execute(arguments);
    } finally {
      out.flush();
      err.flush();
    }
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(),
        "a command is missing: " + String.join(", ", spec.subcommands().keySet()));
  }

  private int wrongUsage(ParameterException exception, List<String> arguments) {
    CommandLine command = exception.getCommandLine();
    StringBuilder message = new StringBuilder(oneLine(exception.getMessage()));
    if (exception instanceof UnmatchedArgumentException unmatched && !unmatched.getSuggestions().isEmpty()) {
      message.append("; did you mean ").append(String.join(" or ", unmatched.getSuggestions())).append('?');
    }
    String name = command.getCommandSpec().qualifiedName();
    command.getErr().println(name + ": error: " + message + " (see: " + name + " --help)");
    // The options of a line that cannot be parsed may not have been set.
    if (verbose || arguments.contains("--verbose")) {
      exception.printStackTrace(command.getErr());
    }
    return CommandLine.ExitCode.USAGE;
  }

  private int failed(Exception exception, CommandLine command) {
    boolean usage = exception instanceof UsageException || exception instanceof ConfigException
        || exception instanceof UnknownNameException;
    String name = command.getCommandSpec().qualifiedName();
    String message = exception.getMessage() == null ? exception.getClass().getSimpleName() : exception.getMessage();
    if (isOurs(exception)) {
      command.getErr().println(name + ": error: " + oneLine(message));
    } else {
      command.getErr().println(name + ": internal error: " + exception.getClass().getSimpleName() + ": "
          + oneLine(message) + (verbose ? "" : "; run it again with --verbose and report what it prints"));
    }
    if (verbose) {
      exception.printStackTrace(command.getErr());
    }
    return usage ? CommandLine.ExitCode.USAGE : CommandLine.ExitCode.SOFTWARE;
  }

  /** Whether the exception was thrown for the user to read. */
  private static boolean isOurs(Exception exception) {
    return exception.getClass().getName().startsWith("dev.hawser.");
  }

  static String oneLine(@Nullable String text) {
    return text == null ? "no message" : text.strip().replaceAll("\\s*\\R\\s*", "; ");
  }
}
