/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.engine.topology.Topology;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows what is here and how it is connected. */
@Command(name = "topo", mixinStandardHelpOptions = true, versionProvider = Version.class,
    description = "Shows GPUs, NICs and interfaces, their links, and how near they are to each other.")
final class TopoCommand implements Callable<Integer> {
  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--sys", paramLabel = "FOLDER", description = "A recorded tree in place of /sys.")
  private @Nullable Path sys;

  @Override
  public Integer call() {
    Path recorded = sys;
    if (recorded != null && !Files.isDirectory(recorded)) {
      throw new UsageException("--sys " + recorded + " is no folder; name a copy of /sys");
    }
    if (recorded != null && !Topology.isTree(recorded)) {
      throw new UsageException(
          "--sys " + recorded
              + " is no copy of /sys: it has neither class/net nor bus/pci/devices; name the folder that has");
    }
    Topology topology = recorded == null ? Topology.read() : Topology.read(recorded);
    spec.commandLine().getOut().print(topology.text());
    return 0;
  }
}
