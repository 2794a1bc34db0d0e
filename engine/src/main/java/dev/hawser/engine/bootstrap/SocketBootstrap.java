/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.net.InetEndpoint;
import dev.hawser.engine.net.NetException;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.net.TlsContexts;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.Transport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The bootstrap over real sockets: listens for every transport of one agent, opens path generations to others, and asks
 * addresses who is there. The wire is in {@code docs/protocol-bootstrap.md}.
 *
 * <p>Until {@link #serve} is called, peers that dial are told to come again. One thread moves all handshakes; at most
 * {@value #POOL_THREADS} more run what takes time, and end when there is nothing to run. Thread-safe.
 */
public final class SocketBootstrap implements PathOpener, AutoCloseable {
  private static final int BACKLOG = 512;
  private static final int POOL_THREADS = 4;
  private static final int POOL_QUEUE = 4096;
  private static final long PROBE_SLACK_NANOS = 1_000_000_000L;

  private final BootstrapContext context;
  private final BootstrapLoop loop;
  private final ThreadPoolExecutor pool;
  private final Acceptor acceptor;
  private final List<String> listenAddresses;
  private final List<String> listenHosts;
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile Map<String, Transport> transports = Map.of();
  private final Set<OpenAttempt> attempts = new HashSet<>(); // loop thread only

  private SocketBootstrap(
      BootstrapContext context, BootstrapLoop loop, ThreadPoolExecutor pool, Map<Integer, InetEndpoint> listeners) {
    this.context = context;
    this.loop = loop;
    this.pool = pool;
    this.acceptor = new Acceptor(context);
    Set<String> addresses = new LinkedHashSet<>();
    Set<String> hosts = new LinkedHashSet<>();
    for (InetEndpoint bound : listeners.values()) {
      for (InetEndpoint each : ListenAddresses.reachable(bound)) {
        addresses.add(each.toString());
        hosts.add(each.host());
      }
    }
    this.listenAddresses = List.copyOf(addresses);
    this.listenHosts = List.copyOf(hosts);
    loop.execute(() -> listeners.forEach(acceptor::add));
    loop.start();
  }

  /**
   * Binds every address of the configuration.
   *
   * @throws BootstrapException if an address cannot be bound, or a TLS file not be used; the message names it and says
   *     what to do
   */
  public static SocketBootstrap listen(EngineConfig config) {
    return listen(config, BootstrapLimits.DEFAULT);
  }

  static SocketBootstrap listen(EngineConfig config, BootstrapLimits limits) {
    SSLContext tls = tls(config.tls());
    Map<Integer, InetEndpoint> listeners = new LinkedHashMap<>();
    try {
      for (String each : config.listen()) {
        InetEndpoint wanted = InetEndpoint.parse(each);
        int fd = Sockets.listen(wanted, BACKLOG);
        listeners.put(fd, wanted);
        listeners.put(fd, wanted.withPort(Sockets.local(fd).port()));
      }
    } catch (NetException | IllegalArgumentException e) {
      listeners.keySet().forEach(Sockets::close);
      throw new BootstrapException("agent " + config.name() + " cannot listen: " + e.getMessage(), e);
    }
    BootstrapLoop loop = new BootstrapLoop("hawser-bootstrap-" + config.name());
    ThreadPoolExecutor pool = pool(config.name());
    Identity identity =
        new Identity(config.name(), config.epoch(), hostName(), ProcessHandle.current().pid());
    BootstrapContext context =
        new BootstrapContext(loop, pool, identity, new Secret(config.secret()), tls, limits, new LimitedLog());
    return new SocketBootstrap(context, loop, pool, listeners);
  }

  private static @Nullable SSLContext tls(TlsConfig config) {
    Path certificate = config.certificate();
    Path key = config.privateKey();
    Path trust = config.trust();
    if (certificate == null && key == null && trust == null) {
      return null;
    }
    try {
      if (certificate == null || key == null || trust == null) {
        throw new IllegalArgumentException(
            "TLS needs three files, a certificate, its key and the certificates to trust: set all of them or none");
      }
      return TlsContexts.of(certificate, key, trust);
    } catch (IllegalArgumentException e) {
      throw new BootstrapException(String.valueOf(e.getMessage()), e);
    }
  }

  private static ThreadPoolExecutor pool(String agent) {
    AtomicInteger number = new AtomicInteger();
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            POOL_THREADS,
            POOL_THREADS,
            10,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(POOL_QUEUE),
            task -> Thread.ofPlatform()
                .name("hawser-bootstrap-" + agent + "-" + number.incrementAndGet())
                .daemon(true)
                .unstarted(task));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /** As the kernel has it: the JDK would ask the name service. */
  private static String hostName() {
    try {
      String name = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
      return name.length() > Messages.MAX_NAME_BYTES ? name.substring(0, Messages.MAX_NAME_BYTES) : name;
    } catch (IOException e) {
      return "unknown";
    }
  }

  /** Where peers can dial: numeric {@code host:port}, ports filled in, wildcards replaced by this host's addresses. */
  public List<String> listenAddresses() {
    return listenAddresses;
  }

  /** The numeric hosts of {@link #listenAddresses}, each once: for {@code TransportContext}. */
  public List<String> listenHosts() {
    return listenHosts;
  }

  /**
   * Begins to answer HELLO. Called once.
   *
   * @param offered the agent's transports
   * @param handler decides about every authenticated HELLO
   */
  public void serve(List<Transport> offered, HelloHandler handler) {
    Map<String, Transport> byName = new LinkedHashMap<>();
    for (Transport transport : offered) {
      byName.put(transport.name(), transport);
    }
    transports = byName;
    loop.execute(() -> acceptor.serve(new Acceptor.Service(byName, handler)));
  }

  @Override
  public void open(OpenRequest request, Consumer<OpenResult> callback) {
    Transport transport = transports.get(request.hello().transport());
    if (transport == null) {
      callback.accept(
          new OpenResult.Failed(
              new PathFault(
                  PathFault.Kind.UNREACHABLE, "transport " + request.hello().transport() + " is not in use here")));
      return;
    }
    OpenAttempt attempt =
        new OpenAttempt(
            context, transport, request, opening(), callback, attempts::remove);
    boolean begun =
        loop.execute(
            () -> {
              attempts.add(attempt);
              if (closed.get()) {
                attempt.cancel("this agent's bootstrap is closing");
              } else {
                attempt.start();
              }
            });
    if (!begun) {
      callback.accept(
          new OpenResult.Failed(new PathFault(PathFault.Kind.ABORTED, "this agent's bootstrap is closed")));
    }
  }

  private Messages.Opening opening() {
    return Messages.Opening.ours(context.secret().isSet(), acceptor.newNonce());
  }

  /**
   * Asks an address who is there, and waits for the answer.
   *
   * @param address numeric {@code host:port}
   * @param timeout at most how long
   * @throws IllegalArgumentException if the address is not numeric
   */
  public ProbeResult probe(String address, Duration timeout) {
    InetEndpoint endpoint = InetEndpoint.parse(address);
    CompletableFuture<ClientHandshake.Outcome> answer = new CompletableFuture<>();
    long deadline = System.nanoTime() + timeout.toNanos();
    Attempt attempt =
        new Attempt(context, Messages.probe(opening()), List.of(endpoint), "", deadline, answer::complete);
    if (!loop.execute(attempt::dialNext)) {
      return silent(PathFault.Kind.ABORTED, "this agent's bootstrap is closed");
    }
    try {
      return switch (answer.get(timeout.toNanos() + PROBE_SLACK_NANOS, TimeUnit.NANOSECONDS)) {
        case ClientHandshake.Outcome.Identified(Identity identity) -> new ProbeResult.Found(identity);
        case ClientHandshake.Outcome.Refused(Refusal refusal) -> new ProbeResult.Refused(refusal);
        case ClientHandshake.Outcome.Broken(PathFault fault) -> new ProbeResult.Silent(fault);
        case ClientHandshake.Outcome.Welcomed welcomed -> {
          welcomed.stream().close();
          yield silent(PathFault.Kind.PROTOCOL, address + ": WELCOME as the answer to a PROBE");
        }
      };
    } catch (TimeoutException e) {
      loop.execute(attempt::cancel);
      return silent(PathFault.Kind.TIMED_OUT, address + ": no answer in " + timeout);
    } catch (InterruptedException e) {
      loop.execute(attempt::cancel);
      Thread.currentThread().interrupt();
      return silent(PathFault.Kind.ABORTED, address + ": interrupted while waiting for an answer");
    } catch (ExecutionException e) {
      throw new AssertionError("nobody completes this with an exception", e);
    }
  }

  private static ProbeResult silent(PathFault.Kind kind, String detail) {
    return new ProbeResult.Silent(new PathFault(kind, detail));
  }

  /** Stops listening, ends every handshake and attempt, and their threads. Connections that were handed over stay. */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    loop.execute(
        () -> {
          acceptor.close();
          for (OpenAttempt attempt : new ArrayList<>(attempts)) {
            attempt.cancel("this agent's bootstrap is closing");
          }
        });
    loop.close();
    pool.shutdown();
    try {
      if (!pool.awaitTermination(5, TimeUnit.SECONDS)) {
        LimitedLog.bug("the bootstrap's pool still runs " + pool.getActiveCount() + " tasks",
            new IllegalStateException());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
