/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.perf.bench.Bench;
import dev.hawser.perf.bench.BenchOutcome;
import dev.hawser.perf.bench.BenchPlan;
import dev.hawser.perf.bench.BenchReport;
import dev.hawser.perf.bench.BenchRow;
import dev.hawser.perf.bench.BenchTable;
import dev.hawser.perf.bench.BenchTarget;
import dev.hawser.perf.bench.HostFacts;
import dev.hawser.perf.bench.NodeConfig;
import dev.hawser.perf.bench.NodeProcess;
import dev.hawser.perf.bench.Plant;
import dev.hawser.perf.peers.Peer;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures transfers between two processes. */
@Command(name = "bench", subcommands = MeshCommand.class, mixinStandardHelpOptions = true,
    versionProvider = Version.class, sortOptions = false,
    description = {
        "Measures transfers between two processes, and verifies their bytes.",
        "Without --role it starts a metadata service and a target process on this host, and measures every transport "
            + "that works here. On two hosts:",
        "  hawser metadata --listen ADDRESS:7300 --allow-anonymous",
        "  hawser bench --role target --metadata http://ADDRESS:7300 --listen ADDRESS:0",
        "  hawser bench --role initiator --metadata http://ADDRESS:7300 --listen ADDRESS:0 --peer target"})
final class BenchCommand implements Callable<Integer> {
  private static final String TARGET = "target";
  private static final String INITIATOR = "initiator";
  private static final String USUAL_SIZES = "4K:64M:x4";
  private static final String COMPARED_SIZES = "8,1M,64M";
  private static final int MAX_PAIRS = 10_000;

  /** Which side of the bench this process is. */
  enum Role {
    TARGET, INITIATOR
  }

  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--role", paramLabel = "target|initiator",
      description = "Which side this process is; both are needed.")
  private @Nullable Role role;

  @Option(names = "--metadata", paramLabel = "URL", description = "The metadata service where both sides meet.")
  private @Nullable URI metadata;

  @Option(names = "--name", paramLabel = "NAME", description = "This side's name; its role if it is not given.")
  private @Nullable String name;

  @Option(names = "--peer", paramLabel = "NAME",
      description = "The target's name (${DEFAULT-VALUE}).", defaultValue = TARGET)
  private String peer = TARGET;

  @Option(names = "--listen", paramLabel = "ADDRESS:PORT", split = ",",
      description = "Where this side is reached; loopback if neither this nor HAWSER_LISTEN is set.")
  private List<String> listen = new ArrayList<>();

  @Option(names = "--wait", paramLabel = "TIME",
      description = "How long to wait for the target (${DEFAULT-VALUE}).", defaultValue = "30s")
  private Duration wait = Duration.ofSeconds(30);

  @Mixin
  private BenchOptions options = new BenchOptions();

  @Option(names = "--min-gbits", paramLabel = "G", description = "End with 1 if a row stays below so many Gb/s.")
  private @Nullable Double minGbits;

  @Option(names = "--json", paramLabel = "FILE", description = "Write everything as one JSON object.")
  private @Nullable Path json;

  @Option(names = "--plot", paramLabel = "FILE.svg",
      description = "Draw bandwidth and latency over the request's size.")
  private @Nullable Path plot;

  @Option(names = "--compare", description = {
      "Also run the programs found here that move bytes: a C program over a socket, "
          + "memcpy, process_vm, iperf3, ucx_perftest, ib_write_bw and ib_read_bw, in turn with ours, and print ratios.",
      "Without --sizes the sizes are then 8,1M,64M."})
  private boolean compare;

  @Option(names = "--pairs", paramLabel = "N", defaultValue = "10",
      description = "How often ours and a peer run in turn (${DEFAULT-VALUE}).")
  private int pairs = 10;

  @Option(names = "--plant", hidden = true)
  private Plant plant = Plant.NONE;

  @Option(names = "--until-stdin-ends", hidden = true)
  private boolean untilStdinEnds;

  @Override
  public Integer call() throws Exception {
    if (role != null && metadata == null) {
      throw new UsageException(
          "--role needs --metadata URL, where the two sides meet; start one with: hawser metadata");
    }
    if (role == null && metadata != null) {
      throw new UsageException(
          "--metadata needs --role target or --role initiator; without both, everything is started here");
    }
    Ranges.time("--wait", wait, Ranges.NO_TIME);
    checkGate();
    OutputFile jsonFile = OutputFile.of("--json", json);
    OutputFile plotFile = OutputFile.of("--plot", plot);
    if (json != null && plot != null && json.toAbsolutePath().normalize().equals(plot.toAbsolutePath().normalize())) {
      throw new UsageException("--json and --plot name the same file; name two");
    }
    if (role == Role.TARGET) {
      return target();
    }
    Ranges.between("--pairs", pairs, 1, MAX_PAIRS);
    BenchPlan plan = options.plan(compare ? COMPARED_SIZES : USUAL_SIZES);
    Outputs outputs = new Outputs(jsonFile, plotFile);
    return role == Role.INITIATOR ? initiator(metadata(), plan, outputs) : local(plan, outputs);
  }

  private URI metadata() {
    URI uri = metadata;
    if (uri == null) {
      throw new IllegalStateException("--metadata was checked");
    }
    return uri;
  }

  private record Outputs(@Nullable OutputFile json, @Nullable OutputFile plot) {
    void write(BenchReport report) {
      if (json != null) {
        json.write(report.toJson());
      }
      if (plot != null && !report.rows().isEmpty()) {
        plot.write(BenchPlots.draw(report));
      }
    }
  }

  private void checkGate() {
    if (minGbits != null && !(minGbits > 0 && minGbits <= Double.MAX_VALUE)) {
      throw new UsageException("--min-gbits is " + minGbits + "; give a number of Gb/s above 0");
    }
  }

  private NodeConfig node(String fallback, URI uri) {
    return new NodeConfig(name == null ? fallback : name, uri, listen, options.rails(), options.paths(), plant);
  }

  private int target() throws IOException, InterruptedException {
    // Closed in the reverse order: peers and the metadata service are told before the signal has its way.
    try (UntilSignal signal = UntilSignal.install(); BenchTarget target = BenchTarget.start(node(TARGET, metadata()))) {
      PrintWriter out = spec.commandLine().getOut();
      out.println(NodeProcess.READY + target.name());
      out.flush();
      if (untilStdinEnds) {
        while (System.in.read() >= 0) {
          // Nothing is said to a target this way but the end.
        }
      } else {
        signal.await();
      }
    }
    return 0;
  }

  private int local(BenchPlan plan, Outputs outputs) {
    try (MetadataService service = MetadataService.start(MetadataConfig.defaults());
        NodeProcess _ = NodeProcess.start(TARGET, Hawser.class.getName(), targetArguments(service.uri()))) {
      peer = TARGET;
      return initiator(service.uri(), plan, outputs);
    }
  }

  private List<String> targetArguments(URI uri) {
    List<String> arguments =
        new ArrayList<>(List.of("bench", "--role", "target", "--metadata", uri.toString(), "--name",
            TARGET, "--until-stdin-ends", "--plant", plant.text()));
    if (options.paths() > 0) {
      arguments.addAll(List.of("--paths", Integer.toString(options.paths())));
    }
    if (!listen.isEmpty()) {
      arguments.addAll(List.of("--listen", String.join(",", listen)));
    }
    return arguments;
  }

  private int initiator(URI uri, BenchPlan plan, Outputs outputs) {
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    Progress progress = new Progress(err, Progress.isWanted());
    try (Bench bench = Bench.start(node(INITIATOR, uri), peer, wait)) {
      BenchPrinter printer = new BenchPrinter(out, err, progress);
      BenchOutcome outcome = bench.run(plan, peers(printer), pairs, printer);
      progress.clear();
      outputs.write(new BenchReport(Version.text(), HostFacts.here(), outcome.rows(), outcome.peers()));
      return verdict(outcome, err);
    } finally {
      progress.clear();
    }
  }

  private List<Peer> peers(BenchPrinter printer) {
    if (!compare) {
      return List.of();
    }
    for (Peer peer : Peer.all()) {
      peer.missing().ifPresent(cure -> printer.note(peer.name() + " is not compared: " + cure));
    }
    return Peer.all();
  }

  private int verdict(BenchOutcome outcome, PrintWriter err) {
    String command = spec.qualifiedName();
    outcome.failures().forEach(failure -> err.println(command + ": error: " + Hawser.oneLine(failure)));
    boolean slow = false;
    for (BenchRow row : outcome.rows()) {
      if (minGbits != null && row.errors() == 0 && !(row.gbitsPerSecond() >= minGbits)) {
        slow = true;
        err.printf("%s: error: %s gave %s Gb/s, less than --min-gbits %s%n", command, BenchTable.what(row),
            BenchTable.figure(row.gbitsPerSecond()), BenchTable.figure(minGbits));
      }
    }
    return outcome.failures().isEmpty() && !slow ? 0 : 1;
  }
}
