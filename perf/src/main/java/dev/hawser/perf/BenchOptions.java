/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.perf.bench.BenchPlan;
import dev.hawser.perf.bench.ByteSize;
import dev.hawser.perf.bench.Completion;
import dev.hawser.perf.bench.MemoryKind;
import dev.hawser.perf.bench.Op;
import dev.hawser.perf.bench.RequestShape;
import dev.hawser.perf.bench.RowTiming;
import dev.hawser.perf.bench.Verify;
import dev.hawser.perf.kv.KvGroup;
import dev.hawser.perf.kv.KvLayout;
import dev.hawser.perf.kv.KvModel;
import dev.hawser.perf.kv.KvModelException;
import dev.hawser.perf.kv.KvRequest;
import dev.hawser.perf.kv.KvShape;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What to measure. */
final class BenchOptions {
  private static final String AUTO = "auto";
  private static final double LEAST_RATE = 0.001;
  private static final double MOST_RATE = 1e9;
  /** In a round each thread posts as many requests as it keeps under way, at least. */
  private static final Duration LONGEST_ROUND = Duration.ofMinutes(1);

  @Option(names = "--transport", paramLabel = "NAME", split = ",", defaultValue = AUTO,
      description = "Transports, one after the other: auto (each that works), tcp, shm, gpu-ipc, … "
          + "(${DEFAULT-VALUE}).")
  private List<String> transports = List.of(AUTO);

  @Option(names = "--op", paramLabel = "write|read", split = ",", defaultValue = "write,read",
      description = "Directions, one after the other (${DEFAULT-VALUE}).")
  private List<Op> ops = List.of();

  @Option(names = "--bidirectional", description = "The target does the same at the same time; figures are of both.")
  private boolean bidirectional;

  @Option(names = "--initiator-memory", paramLabel = "host|malloc|cuda:N", defaultValue = "host",
      description = "Where the initiator's bytes lie: host, allocated by Hawser, malloc, by others, or on a GPU, as "
          + "cuda:0 (${DEFAULT-VALUE}).")
  private String initiatorMemory = "host";

  @Option(names = "--target-memory", paramLabel = "host|malloc|cuda:N", defaultValue = "host",
      description = "Where the target's bytes lie (${DEFAULT-VALUE}).")
  private String targetMemory = "host";

  @Option(names = "--sizes", paramLabel = "SIZES",
      description = "Bytes of a request: a list of sizes and ranges, as 8,4K:64M:x4 (4K:64M:x4).")
  private @Nullable String sizes;

  @Option(names = "--block-bytes", paramLabel = "SIZE",
      description = "A request is blocks of this size, scattered on both sides.")
  private @Nullable String blockBytes;

  @Option(names = "--batch", paramLabel = "N", description = "A request is so many blocks, scattered on both sides.")
  private @Nullable Integer batch;

  @Option(names = "--threads", paramLabel = "T", defaultValue = "1",
      description = "Threads that post (${DEFAULT-VALUE}).")
  private int threads = 1;

  @Option(names = "--depth", paramLabel = "N",
      description = "Requests that each thread keeps under way (1 below 256K, else 4).")
  private @Nullable Integer depth;

  @Option(names = "--window", paramLabel = "SIZE",
      description = "Memory that a row's requests go through in turn, one round of them at least (256M). What is small "
          + "stays in caches, as the single buffer of perftest does.")
  private @Nullable String window;

  @Option(names = "--completion", paramLabel = "caller|worker", defaultValue = "caller",
      description = "Who sees a request through: the thread that waits for it, or the engine's worker, which sleeps "
          + "while --rate leaves it nothing to do (${DEFAULT-VALUE}).")
  private Completion completion = Completion.CALLER;

  @Option(names = "--rails", paramLabel = "NAME", split = ",",
      description = "Rails to post on, as tcp:10.0.0.7 or mlx5_0:1; all if this is not given. A wrong one is answered with a list.")
  private List<String> rails = List.of();

  @Option(names = "--paths", paramLabel = "K",
      description = "Paths on each rail (the transport's own number).")
  private @Nullable Integer paths;

  @Option(names = "--duration", paramLabel = "TIME", description = "Time of a row (500ms).")
  private @Nullable Duration duration;

  @Option(names = "--iterations", paramLabel = "N", description = "Requests of a row, at least, in place of a time.")
  private @Nullable Long iterations;

  @Option(names = "--warmup", paramLabel = "TIME", defaultValue = "200ms",
      description = "Time before a row counts, five times that for a transport's first (${DEFAULT-VALUE}).")
  private Duration warmup = Duration.ofMillis(200);

  @Option(names = "--rate", paramLabel = "N",
      description = "Requests per second, instead of as many as possible; latency then counts from when one was due.")
  private @Nullable Double rate;

  @Option(names = "--timeout", paramLabel = "TIME", defaultValue = "30s",
      description = "Deadline of one request (${DEFAULT-VALUE}).")
  private Duration timeout = Duration.ofSeconds(30);

  @Option(names = "--verify", paramLabel = "full|sample|none", defaultValue = "full",
      description = "Compare every byte of every request, a sample at the end of a row, or nothing "
          + "(${DEFAULT-VALUE}).")
  private Verify verify = Verify.FULL;

  @Option(names = "--kv-model", paramLabel = "config.json",
      description = "A request is the KV cache of this model: its Hugging Face configuration.")
  private @Nullable Path kvModel;

  @Option(names = "--tokens", paramLabel = "N", split = ",",
      description = "Tokens in that cache, one row for each number (1024).")
  private List<Integer> tokens = new ArrayList<>();

  @Option(names = "--kv-block-tokens", paramLabel = "N", defaultValue = "16",
      description = "Tokens of a block (${DEFAULT-VALUE}).")
  private int kvBlockTokens = KvRequest.DEFAULT_BLOCK_TOKENS;

  @Option(names = "--kv-tp", paramLabel = "N", defaultValue = "1",
      description = "Ranks that share the model's heads; the cache is that of one (${DEFAULT-VALUE}).")
  private int kvTensorParallel = 1;

  @Option(names = "--kv-dtype", paramLabel = "TYPE",
      description = "Type of the cache's elements, as fp8 (the model's).")
  private @Nullable String kvDtype;

  @Option(names = "--kv-layout", paramLabel = "packed|split", defaultValue = "packed",
      description = "Keys and values side by side, or apart (${DEFAULT-VALUE}).")
  private KvLayout kvLayout = KvLayout.PACKED;

  List<String> rails() {
    return List.copyOf(rails);
  }

  int paths() {
    return paths == null ? 0 : Ranges.between("--paths", paths, 1, Ranges.MAX_PATHS);
  }

  /**
   * What the options ask for.
   *
   * @param usualSizes the sizes if none are given
   * @throws UsageException if they do not go together
   */
  BenchPlan plan(String usualSizes) {
    if (duration != null && iterations != null) {
      throw new UsageException("--duration and --iterations both say when a row ends; give one");
    }
    if (iterations != null && iterations < 1) {
      throw new UsageException("--iterations is " + iterations + "; it must be 1 or more");
    }
    Ranges.between("--threads", threads, 1, Ranges.MAX_THREADS);
    RowTiming timing = new RowTiming(Ranges.time("--warmup", warmup, Ranges.NO_TIME),
        Ranges.time("--duration", duration == null ? Duration.ofMillis(500) : duration, Ranges.SHORTEST),
        iterations == null ? 0 : iterations);
    BenchPlan plan = new BenchPlan(transports(), List.copyOf(new LinkedHashSet<>(ops)), bidirectional,
        memory("--initiator-memory", initiatorMemory), memory("--target-memory", targetMemory), shapes(usualSizes),
        threads, depth == null ? 0 : Ranges.between("--depth", depth, 1, Ranges.MAX_UNDER_WAY), rate(), completion,
        verify, timing, Ranges.time("--timeout", timeout, Ranges.SHORTEST), window());
    for (RequestShape shape : plan.shapes()) {
      checkUnderWay(plan, shape);
    }
    return plan;
  }

  private long window() {
    long bytes = window == null ? BenchPlan.USUAL_WINDOW_BYTES : size("--window", window);
    if (bytes > Ranges.MAX_WINDOW_BYTES) {
      throw new UsageException("--window " + window + " is more memory than a row can use; give 64G at most");
    }
    return bytes;
  }

  private double rate() {
    if (rate == null) {
      return 0;
    }
    if (!(rate >= LEAST_RATE && rate <= MOST_RATE)) {
      throw new UsageException("--rate is " + rate + "; give requests per second, 0.001 to 1e9, or leave it out for "
          + "as many as possible");
    }
    return rate;
  }

  private static void checkUnderWay(BenchPlan plan, RequestShape shape) {
    int each = plan.depthFor(shape);
    Ranges.underWay(plan.threads(), each, shape.batch(), shape.requestBytes());
    double rate = plan.requestsPerSecond();
    if (rate > 0 && plan.threads() * each / rate > LONGEST_ROUND.toSeconds()) {
      throw new UsageException("--rate " + rate + " takes longer than " + LONGEST_ROUND.toSeconds() + " s for the "
          + plan.threads() * each + " requests that --threads " + plan.threads() + " with --depth " + each
          + " keep under way; raise it, or lower one of them");
    }
  }

  private List<String> transports() {
    Set<String> names = new LinkedHashSet<>(transports);
    if (names.contains(AUTO) && names.size() > 1) {
      throw new UsageException("--transport auto stands for each that works; name it alone, or name the others");
    }
    return names.contains(AUTO) ? List.of() : List.copyOf(names);
  }

  private static MemoryKind memory(String option, String text) {
    try {
      return MemoryKind.parse(text);
    } catch (IllegalArgumentException e) {
      throw new UsageException(option + ": " + e.getMessage(), e);
    }
  }

  private List<RequestShape> shapes(String usualSizes) {
    if (kvModel != null) {
      return kvShapes(kvModel);
    }
    if (!tokens.isEmpty()) {
      throw new UsageException("--tokens needs --kv-model config.json");
    }
    if (batch != null) {
      Ranges.between("--batch", batch, 1, Ranges.MAX_BATCH);
    }
    Long block = blockBytes == null ? null : size("--block-bytes", blockBytes);
    if (block != null && batch != null) {
      if (sizes != null) {
        throw new UsageException("--block-bytes and --batch give the size of a request; leave --sizes out");
      }
      if (block > Long.MAX_VALUE / batch) {
        throw new UsageException("--batch " + batch + " blocks of --block-bytes " + ByteSize.format(block)
            + " are more than 2^63 bytes; lower one");
      }
      return List.of(new RequestShape(block, batch));
    }
    List<RequestShape> shapes = new ArrayList<>();
    for (long bytes : sizes("--sizes", sizes == null ? usualSizes : sizes)) {
      shapes.add(shape(bytes, block, batch));
    }
    return shapes;
  }

  private static RequestShape shape(long bytes, @Nullable Long block, @Nullable Integer batch) {
    if (block != null) {
      if (bytes % block == 0 && bytes / block > Ranges.MAX_BATCH) {
        throw new UsageException("a request of " + ByteSize.format(bytes) + " in --block-bytes "
            + ByteSize.format(block) + " has more than " + Ranges.MAX_BATCH
            + " blocks; lower --sizes or raise --block-bytes");
      }
      if (bytes % block != 0) {
        throw new UsageException("a request of " + ByteSize.format(bytes) + " is no whole number of blocks of "
            + ByteSize.format(block) + "; change --sizes or --block-bytes");
      }
      return new RequestShape(block, (int) (bytes / block));
    }
    int blocks = batch == null ? 1 : batch;
    if (bytes % blocks != 0) {
      throw new UsageException("a request of " + ByteSize.format(bytes) + " cannot be cut into --batch " + blocks
          + " equal blocks; change --sizes or --batch");
    }
    return new RequestShape(bytes / blocks, blocks);
  }

  private List<RequestShape> kvShapes(Path file) {
    if (sizes != null || blockBytes != null || batch != null) {
      throw new UsageException("--kv-model gives the size of a request; leave --sizes, --block-bytes and --batch out");
    }
    List<RequestShape> shapes = new ArrayList<>();
    for (int count : tokens.isEmpty() ? List.of(1024) : tokens) {
      KvShape shape;
      try {
        shape = KvModel.shape(file, new KvRequest(count, kvBlockTokens, kvTensorParallel, kvLayout, kvDtype));
      } catch (KvModelException e) {
        throw new UsageException("--kv-model: " + e.getMessage(), e);
      }
      shapes.add(request(shape));
    }
    return shapes;
  }

  private static RequestShape request(KvShape shape) {
    long block = shape.groups().getFirst().blockBytes();
    for (KvGroup group : shape.groups()) {
      if (group.blockBytes() != block) {
        throw new UsageException("--kv-model: its layers have blocks of different sizes, which one row cannot show");
      }
    }
    if (shape.descriptors() > Ranges.MAX_BATCH) {
      throw new UsageException("--tokens gives " + shape.descriptors() + " blocks, more than the " + Ranges.MAX_BATCH
          + " that one request can have; give fewer, or raise --kv-block-tokens");
    }
    if (block > Long.MAX_VALUE / shape.descriptors()) {
      throw new UsageException("--kv-model: its cache would have more than 2^63 bytes; look at the file's numbers");
    }
    return new RequestShape(block, (int) shape.descriptors());
  }

  private static long size(String option, String text) {
    List<Long> all = sizes(option, text);
    if (all.size() != 1) {
      throw new UsageException(option + " " + text + " is several sizes; give one");
    }
    return all.getFirst();
  }

  private static List<Long> sizes(String option, String text) {
    try {
      return ByteSize.parseList(text);
    } catch (IllegalArgumentException e) {
      throw new UsageException(option + ": " + e.getMessage(), e);
    }
  }
}
