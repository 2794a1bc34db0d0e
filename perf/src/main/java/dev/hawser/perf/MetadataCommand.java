/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.metadata.MetadataConfig;
import dev.hawser.metadata.MetadataService;
import dev.hawser.metadata.StoreConfig;
import dev.hawser.metadata.TlsConfig;
import dev.hawser.perf.bench.ByteSize;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the metadata service until a signal ends it. */
@Command(name = "metadata", mixinStandardHelpOptions = true, versionProvider = Version.class, sortOptions = false,
    description = "Runs the metadata service, where agents publish themselves and find each other. Its first line of output is its URL; the page is there, too.",
    footer = {"", "Beyond loopback it wants to know who asks: --tokens or --tls-client-ca, or --allow-anonymous.",
        "Several with the same --store etcd:… are replicas of one; agents take all their URLs."})
final class MetadataCommand implements Callable<Integer> {
  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--listen", paramLabel = "HOST:PORT", defaultValue = "127.0.0.1:7300",
      description = "Where to listen; port 0 takes a free one (${DEFAULT-VALUE}).")
  private String listen = "127.0.0.1:7300";

  @Option(names = "--store", paramLabel = "STORE", defaultValue = "memory",
      description = "memory, or etcd:URL,URL,… for more than one machine (${DEFAULT-VALUE}).")
  private String store = "memory";

  @ArgGroup(validate = false, heading = "%nWho may come in:%n")
  private Access access = new Access();

  @ArgGroup(validate = false, heading = "%nCertificates for an etcd with https URLs:%n")
  private EtcdFiles etcd = new EtcdFiles();

  @ArgGroup(validate = false, heading = "%nLimits:%n")
  private Limits limits = new Limits();

  @Option(names = "--until-stdin-ends", hidden = true)
  private boolean untilStdinEnds;

  /** Options of authentication and encryption. */
  private static final class Access {
    @Option(names = "--tokens", paramLabel = "FILE",
        description = "Bearer tokens, one a line: ROLE NAMES TOKEN; read again when it changes.")
    private @Nullable Path tokens;

    @Option(names = "--tls-cert", paramLabel = "FILE", description = "The service's certificate, PEM.")
    private @Nullable Path certificate;

    @Option(names = "--tls-key", paramLabel = "FILE", description = "Its private key, PKCS #8, PEM.")
    private @Nullable Path key;

    @Option(names = "--tls-client-ca", paramLabel = "FILE",
        description = "Whose client certificates count: their holders publish the names that these carry.")
    private @Nullable Path clientAuthorities;

    @Option(names = "--tls-client-required", description = "No connection without a client certificate.")
    private boolean clientsMust;

    @Option(names = "--allow-anonymous", description = "Let anyone do anything, from other machines too.")
    private boolean anonymous;

    Optional<TlsConfig> tls() {
      if (certificate == null || key == null) {
        if (certificate != null || key != null || clientAuthorities != null || clientsMust) {
          throw new UsageException("TLS needs --tls-cert and --tls-key; give both");
        }
        return Optional.empty();
      }
      return Optional.of(new TlsConfig(certificate, key, Optional.ofNullable(clientAuthorities), clientsMust));
    }
  }

  /** Options of the connection to etcd. */
  private static final class EtcdFiles {
    @Option(names = "--etcd-ca", paramLabel = "FILE", description = "Who signed its certificates, PEM.")
    private @Nullable Path authorities;

    @Option(names = "--etcd-cert", paramLabel = "FILE", description = "Shown to it, PEM.")
    private @Nullable Path certificate;

    @Option(names = "--etcd-key", paramLabel = "FILE", description = "The key to that, PKCS #8, PEM.")
    private @Nullable Path key;

    @Option(names = "--etcd-prefix", paramLabel = "PREFIX", defaultValue = StoreConfig.Etcd.DEFAULT_PREFIX,
        description = "Of all keys (${DEFAULT-VALUE}).")
    private String prefix = StoreConfig.Etcd.DEFAULT_PREFIX;
  }

  /** Options that bound what the service takes. */
  private static final class Limits {
    @Option(names = "--max-blob", paramLabel = "SIZE", defaultValue = "8M",
        description = "The largest publication (${DEFAULT-VALUE}; with etcd at most 1M).")
    private String maxBlob = "8M";

    @Option(names = "--max-agents", paramLabel = "N", defaultValue = "100000",
        description = "Entries in memory (${DEFAULT-VALUE}).")
    private int maxAgents = 100_000;

    @Option(names = "--max-memory", paramLabel = "SIZE", defaultValue = "1G",
        description = "All entries in memory (${DEFAULT-VALUE}).")
    private String maxMemory = "1G";

    @Option(names = "--max-connections", paramLabel = "N", defaultValue = "16384",
        description = "Open at once (${DEFAULT-VALUE}).")
    private int maxConnections = 16_384;

    @Option(names = "--max-watchers", paramLabel = "N", defaultValue = "10000",
        description = "Open at once (${DEFAULT-VALUE}).")
    private int maxWatchers = 10_000;

    @Option(names = "--event-loops", paramLabel = "N", defaultValue = "1",
        description = "Threads that serve (${DEFAULT-VALUE}).")
    private int eventLoops = 1;

    @Option(names = "--watch-keepalive", paramLabel = "TIME", defaultValue = "15s",
        description = "Between two signs of life on a watch (${DEFAULT-VALUE}).")
    private Duration watchKeepalive = Duration.ofSeconds(15);

    @Option(names = "--shutdown-delay", paramLabel = "TIME", defaultValue = "0s",
        description = "How long to serve on after SIGTERM, not ready any more, so that load balancers see it first (${DEFAULT-VALUE}).")
    private Duration shutdownDelay = Duration.ZERO;

    @Option(names = "--shutdown-grace", paramLabel = "TIME", defaultValue = "5s",
        description = "How long requests that run may take after that (${DEFAULT-VALUE}).")
    private Duration shutdownGrace = Duration.ofSeconds(5);
  }

  @Override
  public Integer call() throws InterruptedException, IOException {
    try (UntilSignal signal = UntilSignal.install(); MetadataService service = MetadataService.start(config())) {
      PrintWriter out = spec.commandLine().getOut();
      out.println("hawser metadata: " + service.uri());
      out.flush();
      if (untilStdinEnds) {
        while (System.in.read() >= 0) {
          // Nothing is said this way but the end.
        }
      } else {
        signal.await();
      }
    }
    return 0;
  }

  /** What the options say. */
  MetadataConfig config() {
    int colon = listen.lastIndexOf(':');
    if (colon < 1 || !listen.substring(colon + 1).matches("[0-9]{1,5}")) {
      throw new UsageException(
          "--listen " + listen + " is not HOST:PORT; write it as in 127.0.0.1:7300, [::1]:7300 or 0.0.0.0:7300");
    }
    String host = listen.substring(0, colon);
    try {
      MetadataConfig.Builder config = MetadataConfig.builder()
          .host(host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host)
          .port(Integer.parseInt(listen.substring(colon + 1)))
          .store(store())
          .allowAnonymous(access.anonymous)
          .maxBlobBytes(Math.toIntExact(ByteSize.parse(limits.maxBlob)))
          .maxAgents(limits.maxAgents)
          .maxStoredBytes(ByteSize.parse(limits.maxMemory))
          .maxConnections(limits.maxConnections)
          .maxWatchers(limits.maxWatchers)
          .eventLoops(limits.eventLoops)
          .watchKeepalive(limits.watchKeepalive)
          .shutdownDelay(limits.shutdownDelay)
          .shutdownGrace(limits.shutdownGrace);
      access.tls().ifPresent(config::tls);
      Optional.ofNullable(access.tokens).ifPresent(config::tokens);
      return config.build();
    } catch (IllegalArgumentException | ArithmeticException e) {
      throw new UsageException("an option is out of its limits: " + e.getMessage(), e);
    }
  }

  private StoreConfig store() {
    if (StoreConfig.parse(store) instanceof StoreConfig.Etcd parsed) {
      return new StoreConfig.Etcd(parsed.endpoints(), etcd.prefix, Optional.ofNullable(etcd.authorities),
          Optional.ofNullable(etcd.certificate), Optional.ofNullable(etcd.key));
    }
    return new StoreConfig.Memory();
  }
}
