/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.perf.bench.ByteSize;
import dev.hawser.perf.bench.HostFacts;
import dev.hawser.perf.bench.Mesh;
import dev.hawser.perf.bench.MeshPlan;
import dev.hawser.perf.bench.MeshReport;
import dev.hawser.perf.bench.NodeConfig;
import dev.hawser.perf.bench.NodeProcess;
import dev.hawser.perf.bench.Op;
import dev.hawser.perf.bench.Plant;
import dev.hawser.perf.bench.RequestShape;
import dev.hawser.perf.bench.RowTiming;
import dev.hawser.perf.bench.Verify;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures between several processes, and names the slow one. */
@Command(name = "mesh", mixinStandardHelpOptions = true, versionProvider = Version.class, sortOptions = false,
    description = {
        "Measures each pair of nodes alone, then all others to one, then every pair at once, and names the "
            + "slow one.",
        "Nodes are processes of 'hawser bench --role target --metadata URL --name NAME'. Without --nodes some are "
            + "started on this host."})
final class MeshCommand implements Callable<Integer> {
  private static final String OWN_NAME = "mesh";
  /** Processes to start on one host. */
  private static final int MAX_COUNT = 64;

  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = {"--nodes", "--agents"}, paramLabel = "NAMES", split = ",", description = "The nodes, two or more.")
  private List<String> nodes = new ArrayList<>();

  @Option(names = "--metadata", paramLabel = "URL", description = "The metadata service where the nodes are found.")
  private @Nullable URI metadata;

  @Option(names = "--listen", paramLabel = "ADDRESS:PORT", split = ",",
      description = "Where nodes reach this process; loopback if neither this nor HAWSER_LISTEN is set.")
  private List<String> listen = new ArrayList<>();

  @Option(names = "--wait", paramLabel = "TIME", defaultValue = "30s",
      description = "How long to wait for each node (${DEFAULT-VALUE}).")
  private Duration wait = Duration.ofSeconds(30);

  @Option(names = "--count", paramLabel = "N", defaultValue = "3",
      description = "How many nodes to start here, without --nodes (${DEFAULT-VALUE}).")
  private int count = 3;

  @Option(names = "--transport", paramLabel = "NAME", description = "The transport (the first that works everywhere).")
  private @Nullable String transport;

  @Option(names = "--op", paramLabel = "write|read", defaultValue = "write",
      description = "The direction (${DEFAULT-VALUE}).")
  private Op op = Op.WRITE;

  @Option(names = "--size", paramLabel = "SIZE", defaultValue = "1M",
      description = "Bytes of a request (${DEFAULT-VALUE}).")
  private String size = "1M";

  @Option(names = "--threads", paramLabel = "T", defaultValue = "1",
      description = "Threads that post, for each pair (${DEFAULT-VALUE}).")
  private int threads = 1;

  @Option(names = "--depth", paramLabel = "N", defaultValue = "4",
      description = "Requests that each thread keeps under way (${DEFAULT-VALUE}).")
  private int depth = 4;

  @Option(names = "--duration", paramLabel = "TIME", defaultValue = "500ms",
      description = "Time of each step (${DEFAULT-VALUE}).")
  private Duration duration = Duration.ofMillis(500);

  @Option(names = "--warmup", paramLabel = "TIME", defaultValue = "200ms",
      description = "Time before a step counts (${DEFAULT-VALUE}).")
  private Duration warmup = Duration.ofMillis(200);

  @Option(names = "--verify", paramLabel = "full|sample|none", defaultValue = "sample",
      description = "How the bytes are compared (${DEFAULT-VALUE}).")
  private Verify verify = Verify.SAMPLE;

  @Option(names = "--json", paramLabel = "FILE", description = "Write everything as one JSON object.")
  private @Nullable Path json;

  @Override
  public Integer call() {
    check();
    OutputFile jsonFile = OutputFile.of("--json", json);
    RequestShape shape = new RequestShape(bytes(), 1);
    URI uri = metadata;
    if (uri != null) {
      return run(uri, nodes, shape, jsonFile);
    }
    List<NodeProcess> processes = new ArrayList<>();
    List<String> names = new ArrayList<>();
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults())) {
      for (int i = 0; i < count; i++) {
        String name = "node-" + i;
        names.add(name);
        processes
            .add(NodeProcess.launch(name, Hawser.class.getName(), List.of("bench", "--role", "target", "--metadata",
                service.uri().toString(), "--name", name, "--until-stdin-ends")));
      }
      processes.forEach(NodeProcess::awaitReady);
      return run(service.uri(), names, shape, jsonFile);
    } finally {
      processes.forEach(NodeProcess::close);
    }
  }

  private void check() {
    if (nodes.isEmpty() != (metadata == null)) {
      throw new UsageException("--nodes and --metadata belong together: names, and where they are found; without both, "
          + "nodes are started here");
    }
    if (!nodes.isEmpty() && (nodes.size() < 2 || new HashSet<>(nodes).size() != nodes.size())) {
      throw new UsageException("--nodes needs two or more different names, not " + nodes);
    }
    Ranges.between("--count", count, 2, MAX_COUNT);
    Ranges.between("--threads", threads, 1, Ranges.MAX_THREADS);
    Ranges.between("--depth", depth, 1, Ranges.MAX_UNDER_WAY);
    Ranges.time("--duration", duration, Ranges.SHORTEST);
    Ranges.time("--warmup", warmup, Ranges.NO_TIME);
    Ranges.time("--wait", wait, Ranges.NO_TIME);
    Ranges.underWay(threads, depth, 1, bytes());
  }

  private int run(URI uri, List<String> names, RequestShape shape, @Nullable OutputFile jsonFile) {
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    Progress progress = new Progress(err, Progress.isWanted());
    try (Mesh mesh = Mesh.start(new NodeConfig(OWN_NAME, uri, listen, List.of(), 0, Plant.NONE), names, wait)) {
      String name = transport == null ? mesh.transports(names).iterator().next() : transport;
      MeshPlan plan = new MeshPlan(names, name, op, shape, threads, depth, verify, new RowTiming(warmup, duration, 0),
          Duration.ofSeconds(30));
      MeshReport report = mesh.run(plan, new BenchPrinter(out, err, progress));
      progress.clear();
      out.print(report.text());
      if (jsonFile != null) {
        jsonFile.write(report.toJson(Version.text(), HostFacts.here()));
      }
      report.failures()
          .forEach(failure -> err.println(spec.qualifiedName() + ": error: " + Hawser.oneLine(failure)));
      return report.failures().isEmpty() ? 0 : 1;
    } finally {
      progress.clear();
    }
  }

  private long bytes() {
    long bytes;
    try {
      bytes = ByteSize.parse(size);
    } catch (IllegalArgumentException e) {
      throw new UsageException("--size: " + e.getMessage(), e);
    }
    if (bytes < 1) {
      throw new UsageException("--size 0 moves nothing; begin at 1");
    }
    return bytes;
  }
}
