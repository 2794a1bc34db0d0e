/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The proxy's command line. SIGTERM and SIGINT drain it. */
@Command(name = "proxy", mixinStandardHelpOptions = true, sortOptions = false,
    description = "OpenAI-style HTTP in front of prefill and decode engines with Hawser's KV connector.")
public final class ProxyMain implements Callable<Integer> {
  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Option(names = "--host", paramLabel = "ADDRESS", description = "Where it listens (${DEFAULT-VALUE}).")
  private String host = "127.0.0.1";

  @Option(names = "--port", paramLabel = "N", description = "Its port; 0 for a free one (${DEFAULT-VALUE}).")
  private int port = 8000;

  @Option(names = "--prefill", paramLabel = "URL", required = true, split = ",",
      description = "Engines that compute prompts; may be repeated.")
  private List<URI> prefill = List.of();

  @Option(names = "--decode", paramLabel = "URL", required = true, split = ",",
      description = "Engines that go on from them; may be repeated.")
  private List<URI> decode = List.of();

  @Option(names = "--mode", paramLabel = "pull|push",
      description = "pull: the decode engine reads behind the prefill; push: the prefill engine writes layer by layer (${DEFAULT-VALUE}).")
  private Mode mode = Mode.PULL;

  @Option(names = "--attempts", paramLabel = "N", description = "How often a request is tried (${DEFAULT-VALUE}).")
  private int attempts = 3;

  @Option(names = "--response-timeout", paramLabel = "SECONDS",
      description = "For the beginning of an engine's answer (${DEFAULT-VALUE}).")
  private int responseTimeout = 600;

  @Option(names = "--idle-timeout", paramLabel = "SECONDS",
      description = "For the next piece of an engine's answer (${DEFAULT-VALUE}).")
  private int idleTimeout = 600;

  @Option(names = "--drain-delay", paramLabel = "MILLISECONDS",
      description = "How long requests are still taken after SIGTERM, while /health says 503 (${DEFAULT-VALUE}).")
  private int drainDelay = 1000;

  @Option(names = "--drain-timeout", paramLabel = "SECONDS",
      description = "For the requests that are here then (${DEFAULT-VALUE}).")
  private int drainTimeout = 120;

  private ProxyMain() {}

  /** Ends with 0 if no request was lost, 1 if some were, 2 for wrong options. */
  public static void main(String[] args) {
    int code = new CommandLine(new ProxyMain()).setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler((e, line, _) -> {
          if (e instanceof ProxyException) {
            line.getErr().println("error: " + e.getMessage());
            return 1;
          }
          throw e;
        }).execute(args);
    if (code != 0) {
      System.exit(code);
    }
  }

  @Override
  public Integer call() throws InterruptedException {
    for (URI uri : prefill) {
      check("--prefill", uri);
    }
    for (URI uri : decode) {
      check("--decode", uri);
    }
    if (attempts < 1) {
      throw new ParameterException(spec.commandLine(), "--attempts: " + attempts + " is less than 1");
    }
    Proxy proxy = Proxy.start(new ProxyConfig(host, port, prefill, decode, mode, attempts, Duration.ofSeconds(5),
        Duration.ofSeconds(responseTimeout), Duration.ofSeconds(idleTimeout), Duration.ofMillis(500),
        Duration.ofMillis(drainDelay), Duration.ofSeconds(drainTimeout), 8 << 20));
    spec.commandLine().getOut().println("ready http://" + host + ':' + proxy.port());
    spec.commandLine().getOut().flush();
    // The exit code of a JVM that a signal ends is the signal's; only halt can tell another.
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(proxy.drain() ? 0 : 1), "drain"));
    new CountDownLatch(1).await(); // for the signal
    return 0;
  }

  private void check(String option, URI uri) {
    if (uri.getHost() == null || !"http".equals(uri.getScheme())) {
      throw new ParameterException(spec.commandLine(), option + ": " + uri + " is not of the form http://host:port");
    }
  }
}
