/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.agent.config.ConfigException;
import dev.hawser.agent.config.HawserConfig;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Prints every setting of an agent. */
@Command(name = "config", mixinStandardHelpOptions = true, versionProvider = Version.class, description = {
    "Prints each setting of an agent started here: its value, where that comes from, and what it means.",
    "Settings come from HAWSER_* variables, then from the file that HAWSER_CONFIG names, then they are the defaults."})
final class ConfigCommand implements Callable<Integer> {
  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--strict", description = "Unknown HAWSER_* variables are errors.")
  private boolean strict;

  @Override
  public Integer call() {
    HawserConfig config;
    try {
      config = HawserConfig.load();
    } catch (ConfigException e) {
      throw new UsageException(String.valueOf(e.getMessage()), e);
    }
    PrintWriter out = spec.commandLine().getOut();
    for (HawserConfig.Entry entry : config.entries()) {
      out.printf("%-22s %-16s %-30s %s%n", entry.setting().key(), entry.value().isEmpty() ? "-" : entry.value(),
          entry.origin(), entry.setting().meaning());
    }
    PrintWriter err = spec.commandLine().getErr();
    config.warnings().forEach(warning -> err.println(spec.qualifiedName() + ": " + (strict ? "error: " : "warning: ")
        + Hawser.oneLine(warning)));
    return strict && !config.warnings().isEmpty() ? 2 : 0;
  }
}
