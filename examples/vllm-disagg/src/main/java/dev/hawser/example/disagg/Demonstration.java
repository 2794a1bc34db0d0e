/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataException;
import dev.hawser.metadata.MetadataService;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command line: starts the metadata service and both workers, and sends requests through them. */
@Command(name = "run.sh", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Moves the KV cache of a model from a prefill process to a decode process, by pull and by layer-wise push, and verifies every byte of both pools.")
final class Demonstration implements Callable<Integer> {
  private static final String AUTO = "auto";

  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--layers", paramLabel = "N", description = "Layers of the model (${DEFAULT-VALUE}).")
  private int layers = KvShape.LLAMA_LAYERS;

  @Option(names = "--tokens", paramLabel = "N", description = "Tokens of a prompt (${DEFAULT-VALUE}).")
  private int tokens = 512;

  @Option(names = "--requests", paramLabel = "N", description = "Requests each way (${DEFAULT-VALUE}).")
  private int requests = 3;

  @Option(names = "--prefill-blocks", paramLabel = "N",
      description = "Blocks of the prefill worker's pool (${DEFAULT-VALUE}).")
  private int prefillBlocks = 512;

  @Option(names = "--decode-blocks", paramLabel = "N",
      description = "Blocks of the decode worker's pool (${DEFAULT-VALUE}).")
  private int decodeBlocks = 768;

  @Option(names = "--transport", paramLabel = "NAME",
      description = "The transport to use, such as shm or tcp (${DEFAULT-VALUE}: the best that works).")
  private String transport = AUTO;

  @Option(names = "--by-hand", description = "Carry the agents' metadata by hand, without a metadata service.")
  private boolean byHand;

  @Option(names = "--seed", paramLabel = "N", description = "Seed of the order of the blocks (${DEFAULT-VALUE}).")
  private long seed = 1;

  @Option(names = "--corrupt", description = "Damage one block that was received: must end with exit code 1.")
  private boolean corruptReceived;

  @Option(names = "--corrupt-free",
      description = "Damage one block that nothing may write to: must end with exit code 1.")
  private boolean corruptFree;

  /** Ends with 0 if everything held, 1 if something did not, 2 for wrong options. */
  public static void main(String[] args) {
    System.exit(commandLine().execute(args));
  }

  /** Errors are one line. */
  static CommandLine commandLine() {
    return new CommandLine(new Demonstration()).setExecutionExceptionHandler((e, line, _) -> {
      if (e instanceof DemonstrationException || e instanceof MetadataException) {
        line.getErr().println("error: " + e.getMessage());
        return 1;
      }
      throw e;
    });
  }

  @Override
  public Integer call() {
    KvShape shape = KvShape.llama(atLeastOne("--layers", layers));
    PoolLayout prefillPool = new PoolLayout(shape, atLeastOne("--prefill-blocks", prefillBlocks));
    PoolLayout decodePool = new PoolLayout(shape, atLeastOne("--decode-blocks", decodeBlocks));
    int received = 2 * atLeastOne("--requests", requests) + 1;
    int blocks = shape.blocksFor(atLeastOne("--tokens", tokens));
    checkFits("--prefill-blocks", prefillBlocks, blocks);
    // One more than is received: some block has to stay free, or there is nothing to prove.
    checkFits("--decode-blocks", decodeBlocks, (long) received * blocks + 1);

    Report report = new Report(spec.commandLine().getOut());
    report.model(shape, tokens);
    if (byHand) {
      report.metadata("carried by hand");
      run(shape, prefillPool, decodePool, received, report, Message.of("start"));
    } else {
      try (MetadataService service = MetadataService.start(MetadataConfig.builder().port(0).build())) {
        report.metadata("service at " + service.uri());
        run(shape, prefillPool, decodePool, received, report, Message.of("start").with("metadata", service.uri()));
      }
    }
    return 0;
  }

  private void run(KvShape shape, PoolLayout prefillPool, PoolLayout decodePool, int received, Report report,
      Message start) {
    try (WorkerProcess prefill = WorkerProcess.launch("prefill");
        WorkerProcess decode = WorkerProcess.launch("decode")) {
      report.worker("prefill", prefill.pid(), prefillPool);
      report.worker("decode", decode.pid(), decodePool);
      Router router = new Router(prefill, decode, report, tokens);
      router.start(startOf(start, prefill, prefillPool, seed), startOf(start, decode, decodePool, seed + 1), byHand);
      for (int i = 1; i <= requests; i++) {
        router.pull("pull-" + i);
      }
      for (int i = 1; i <= requests; i++) {
        router.push("push-" + i);
      }
      router.pullTooLate("late");
      router.corrupt(corruption());
      router.audit(received, shape);
    }
  }

  private Message startOf(Message start, WorkerProcess worker, PoolLayout pool, long poolSeed) {
    Message full = start.with("name", worker.name()).with("layers", pool.shape().layers()).with("blocks", pool.blocks())
        .with("seed", poolSeed);
    return transport.equals(AUTO) ? full : full.with("transport", transport);
  }

  private Corruption corruption() {
    return corruptReceived ? Corruption.RECEIVED_BLOCK : corruptFree ? Corruption.FREE_BLOCK : Corruption.NONE;
  }

  private int atLeastOne(String option, int value) {
    if (value < 1) {
      throw new ParameterException(spec.commandLine(), option + ": " + value + " is less than 1");
    }
    return value;
  }

  private void checkFits(String option, int blocks, long needed) {
    if (blocks < needed) {
      throw new ParameterException(spec.commandLine(), option + ": " + blocks + " blocks are too few: " + needed
          + " are needed for this many tokens and requests; give it more, or lower --tokens or --requests");
    }
  }
}
