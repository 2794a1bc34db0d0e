/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.worker;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.EngineException;
import dev.hawser.engine.InboundHandler;
import dev.hawser.engine.Link;
import dev.hawser.engine.LinkException;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.bootstrap.BootstrapException;
import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.HelloHandler;
import dev.hawser.engine.bootstrap.HelloReply;
import dev.hawser.engine.bootstrap.ProbeResult;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.bootstrap.SocketBootstrap;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.link.InboundLink;
import dev.hawser.engine.link.LinkSettings;
import dev.hawser.engine.link.OutboundLink;
import dev.hawser.engine.link.RailShares;
import dev.hawser.engine.link.Tier;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.Transport;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider;
import dev.hawser.engine.telemetry.FlowReport;
import dev.hawser.engine.telemetry.PortCounters;
import dev.hawser.engine.telemetry.PortReport;
import dev.hawser.engine.text.Quoted;
import dev.hawser.engine.wire.CloseKind;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.gpu.GpuMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** The engine: bootstrap, transports and links, moved by a few workers. */
public final class WorkerEngine implements Engine {
  private static final int SCRATCH_BYTES = 32 << 10;
  private static final int MAX_DEPARTED = 4096;
  private static final int MAX_DEPARTED_NUMBERS = 1 << 20;
  private static final long WAIT_SPIN_NANOS = 50_000;

  private final EngineConfig config;
  private final MemoryRegistry registry;
  private final InboundHandler handler;
  private final LinkSettings settings;
  private final RailShares shares;
  private final PortCounters portCounters = new PortCounters();
  private final SocketBootstrap bootstrap;
  private final List<Transport> transports;
  private final Map<String, String> absent;
  private final List<Worker> workers = new ArrayList<>();
  private final List<Region> scratches = new ArrayList<>();
  private final Map<String, OutboundLink> outbound = new ConcurrentHashMap<>();
  /** Each is told things, and dropped, inside of the map's own operations: what is told is never lost with its link. */
  private final Map<String, InboundLink> inbound = new ConcurrentHashMap<>();

  private final DepartedInitiators departed = new DepartedInitiators(MAX_DEPARTED, MAX_DEPARTED_NUMBERS);

  /** By peer, where the numbers of its next link begin: the target remembers which it has seen. */
  private final Map<String, Long> nextTransfers = new ConcurrentHashMap<>();

  private final AtomicInteger nextWorker = new AtomicInteger();
  private final AtomicBoolean closed = new AtomicBoolean();

  private WorkerEngine(
      EngineConfig config,
      MemoryRegistry registry,
      InboundHandler handler,
      SocketBootstrap bootstrap,
      List<Transport> transports,
      Map<String, String> absent) {
    this.config = config;
    this.registry = registry;
    this.handler = handler;
    this.bootstrap = bootstrap;
    this.transports = transports;
    this.absent = absent;
    this.shares = new RailShares(new DevicePlaces(device -> addressOf(registry, device)));
    LinkSettings defaults = LinkSettings.defaults();
    this.settings =
        defaults
            .withTimes(
                config.linkLease().toNanos(),
                config.heartbeat().toNanos(),
                config.connectTimeout().toNanos(),
                config.drainTime().toNanos())
            .withCounts(config.notificationCredits(), defaults.firstTransfer());
  }

  /** See {@link Engine#start}. */
  public static WorkerEngine start(EngineConfig config, MemoryRegistry registry, InboundHandler handler) {
    check(config);
    SocketBootstrap bootstrap;
    try {
      bootstrap = SocketBootstrap.listen(config);
    } catch (BootstrapException e) {
      throw new EngineException(String.valueOf(e.getMessage()), e);
    }
    List<Transport> transports = new ArrayList<>();
    try {
      Map<String, String> absent = new TreeMap<>();
      transports.addAll(find(config, registry, bootstrap.listenHosts(), absent));
      if (transports.isEmpty()) {
        throw new EngineException("no transport works here: " + absent);
      }
      checkRails(config.rails(), transports);
      WorkerEngine engine =
          new WorkerEngine(config, registry, handler, bootstrap, List.copyOf(transports), Map.copyOf(absent));
      engine.run();
      return engine;
    } catch (RuntimeException e) {
      bootstrap.close();
      transports.forEach(Transport::close);
      throw e;
    }
  }

  private static void check(EngineConfig config) {
    if (config.heartbeat().toNanos() > config.linkLease().toNanos() / 4) {
      throw new EngineException(
          "the heartbeat (%s) is at most a quarter of the link lease (%s)"
              .formatted(config.heartbeat(), config.linkLease()));
    }
    if (config.notificationCredits() < 1) {
      throw new EngineException("notification credits must be at least 1, not " + config.notificationCredits());
    }
    if (config.workers() < 0 || config.pathsPerRoute() < 0) {
      throw new EngineException("workers and paths per route are 0 (default) or more");
    }
  }

  private static List<Transport> find(
      EngineConfig config, MemoryRegistry registry, List<String> hosts, Map<String, String> absent) {
    Map<String, TransportProvider> providers = new LinkedHashMap<>();
    for (TransportProvider provider : ServiceLoader.load(TransportProvider.class,
        WorkerEngine.class.getClassLoader())) {
      providers.put(provider.name(), provider);
    }
    for (String wanted : config.transports()) {
      if (!providers.containsKey(wanted)) {
        throw new EngineException("unknown transport '%s': there are %s".formatted(wanted, providers.keySet()));
      }
    }
    List<Transport> found = new ArrayList<>();
    for (TransportProvider provider : providers.values()) {
      if (!config.transports().isEmpty() && !config.transports().contains(provider.name())) {
        absent.put(provider.name(), "not among the configured transports " + config.transports());
        continue;
      }
      TransportContext context =
          new TransportContext(
              registry, config.name(), config.epoch(), hosts, settingsOf(provider.name(), config.transportSettings()));
      switch (provider.create(context)) {
        case TransportProvider.Outcome.Present(Transport transport) -> found.add(transport);
        case TransportProvider.Outcome.Absent(String reason) -> absent.put(provider.name(), reason);
      }
    }
    return found;
  }

  private static void checkRails(List<String> wanted, List<Transport> transports) {
    List<Rail> rails = transports.stream().flatMap(transport -> transport.rails().stream()).toList();
    for (String name : wanted) {
      if (rails.stream().noneMatch(rail -> isNamed(rail, name))) {
        throw new EngineException("unknown rail %s: there are %s".formatted(Quoted.of(name), rails));
      }
    }
  }

  private static boolean isNamed(Rail rail, String name) {
    return rail.name().equals(name) || rail.toString().equals(name);
  }

  /** Those that begin on a rail that is to be used. */
  private List<Reachability.Route> chosen(List<Reachability.Route> routes) {
    List<String> wanted = config.rails();
    return wanted.isEmpty()
        ? routes
        : routes.stream().filter(route -> wanted.stream().anyMatch(name -> isNamed(route.local(), name))).toList();
  }

  private static Map<String, String> settingsOf(String transport, Map<String, String> all) {
    Map<String, String> own = new TreeMap<>();
    String prefix = transport + ".";
    all.forEach(
        (key, value) -> {
          if (key.startsWith(prefix)) {
            own.put(key.substring(prefix.length()), value);
          }
        });
    return own;
  }

  /** Where a device sits in the PCIe tree; empty if its driver does not say. */
  private static Optional<String> addressOf(MemoryRegistry registry, Device device) {
    if (registry.deviceAbsence(device.kind()).isPresent()
        || !(registry.deviceMemory(device.kind()) instanceof GpuMemory memory)) {
      return Optional.empty();
    }
    return memory.gpus().stream()
        .filter(gpu -> gpu.device().equals(device))
        .findFirst()
        .map(gpu -> gpu.properties().pciBusId());
  }

  private void run() {
    int rails = 0;
    for (Transport transport : transports) {
      transport.bound(registry.addBinder(transport.binder()));
      rails += transport.rails().size();
    }
    int cores = Runtime.getRuntime().availableProcessors();
    int count = config.workers() > 0 ? config.workers() : Math.max(1, Math.min(rails, cores / 2));
    for (int i = 0; i < count; i++) {
      Region scratch = registry.allocate(SCRATCH_BYTES, Access.LOCAL);
      scratches.add(scratch);
      Worker worker = new Worker("hawser-worker-%s-%d".formatted(config.name(), i), bootstrap, scratch, this::forget);
      workers.add(worker);
      worker.start();
    }
    bootstrap.serve(transports, new Door());
  }

  /** Brings every HELLO to its initiator's link. */
  private final class Door implements HelloHandler {
    @Override
    public void hello(Hello hello, HelloReply reply) {
      if (closed.get()) {
        reply.refuse(new Refusal(Refusal.Code.CLOSING, config.name() + " is closing"));
        return;
      }
      tellInbound(hello.initiator(), link -> link.hello(hello, reply));
    }

    @Override
    public void connected(Hello hello, Welcome welcome, Connection connection) {
      tellInbound(hello.initiator(), link -> link.connected(hello, welcome, connection));
    }

    @Override
    public void abandoned(Hello hello, Welcome welcome) {
      tellInbound(hello.initiator(), link -> link.abandoned(hello, welcome));
    }
  }

  private void tellInbound(String initiator, Consumer<InboundLink> message) {
    inbound.compute(
        initiator,
        (name, present) -> {
          InboundLink link = present == null ? newInbound(name) : present;
          message.accept(link);
          return link;
        });
  }

  private InboundLink newInbound(String initiator) {
    Worker worker = nextWorker();
    InboundLink link =
        new InboundLink(worker, settings, shares, handler, initiator, config.epoch(), departed.take(initiator));
    worker.add(link);
    return link;
  }

  /** Tells a link what ends it; if there is none, it has ended. */
  private void endInbound(String initiator, CloseKind kind, String reason, Runnable done) {
    InboundLink told =
        inbound.computeIfPresent(
            initiator,
            (name, link) -> {
              link.end(kind, reason, done);
              return link;
            });
    if (told == null) {
      done.run();
    }
  }

  /** Drops a link that nothing is held for, unless it was told something in this moment. By its owner. */
  private boolean forget(InboundLink idle) {
    return inbound.computeIfPresent(
        idle.initiator(),
        (name, link) -> {
          if (link == idle && link.isForgettable()) {
            departed.put(name, link.departed());
            return null;
          }
          return link;
        }) == null;
  }

  private Worker nextWorker() {
    return workers.get(Math.floorMod(nextWorker.getAndIncrement(), workers.size()));
  }

  // ------------------------------------------------------------------ Engine

  @Override
  public String name() {
    return config.name();
  }

  @Override
  public long epoch() {
    return config.epoch();
  }

  @Override
  public List<String> listenAddresses() {
    return bootstrap.listenAddresses();
  }

  @Override
  public List<Rail> rails() {
    return transports.stream().flatMap(transport -> transport.rails().stream()).toList();
  }

  @Override
  public Map<String, byte[]> transportDescriptions() {
    Map<String, byte[]> descriptions = new TreeMap<>();
    for (Transport transport : transports) {
      descriptions.put(transport.name(), transport.description());
    }
    return descriptions;
  }

  @Override
  public Map<String, String> absentTransports() {
    Map<String, String> all = new TreeMap<>(absent);
    for (Transport transport : transports) {
      String outage = transport.outage();
      if (!outage.isEmpty()) {
        all.put(transport.name(), outage);
      }
    }
    return all;
  }

  @Override
  public Link connect(PeerDescription peer) {
    if (closed.get()) {
      throw new LinkException("agent " + config.name() + " is closed");
    }
    return outbound.compute(
        peer.name(),
        (name, present) -> {
          if (present != null && Long.compareUnsigned(present.peerEpoch(), peer.epoch()) > 0) {
            throw new LinkException(
                "epoch %s of %s is over: %s is known; fetch its metadata again"
                    .formatted(
                        Long.toUnsignedString(peer.epoch()), name, Long.toUnsignedString(present.peerEpoch())));
          }
          if (present != null && present.peerEpoch() == peer.epoch() && present.state() != Link.State.CLOSED) {
            return present;
          }
          if (present != null) {
            nextTransfers.put(name, present.nextTransferNumber());
          }
          OutboundLink link = newLink(peer);
          if (present != null) {
            present.supersede(peer.epoch());
          }
          return link;
        });
  }

  @SuppressWarnings("ArrayRecordComponent") // bytes of the transport; candidates are never compared
  private record Candidate(
      Transport transport, byte[] description, int preference, List<Reachability.Route> routes) {}

  private OutboundLink newLink(PeerDescription peer) {
    Map<String, String> unreachable = new TreeMap<>(absent);
    List<Candidate> candidates = new ArrayList<>();
    for (Transport transport : transports) {
      byte[] description = peer.transports().get(transport.name());
      if (description == null) {
        unreachable.put(transport.name(), peer.name() + " does not offer it");
        continue;
      }
      switch (transport.reach(description)) {
        case Reachability.Reachable(int preference, List<Reachability.Route> routes) -> {
          List<Reachability.Route> chosen = chosen(routes);
          if (chosen.isEmpty()) {
            unreachable.put(transport.name(), "none of its ways to %s begins on the rails asked for, %s"
                .formatted(peer.name(), config.rails()));
          } else {
            candidates.add(new Candidate(transport, description, preference, chosen));
          }
        }
        case Reachability.Unreachable(String reason) -> unreachable.put(transport.name(), reason);
      }
    }
    if (candidates.isEmpty()) {
      throw new LinkException("no transport reaches %s: %s".formatted(peer.name(), unreachable));
    }
    candidates.sort(order());
    List<Tier> tiers =
        candidates.stream()
            .map(
                c -> new Tier(
                    c.transport.name(),
                    c.transport.traits(),
                    c.description,
                    c.routes,
                    config.pathsPerRoute() > 0 ? config.pathsPerRoute() : c.transport.traits().defaultPaths()))
            .toList();
    Worker worker = nextWorker();
    long first = nextTransfers.getOrDefault(peer.name(), settings.firstTransfer());
    OutboundLink link =
        new OutboundLink(worker, settings.withCounts(config.notificationCredits(), first), shares, config.name(),
            config.epoch(), peer, tiers, unreachable);
    worker.add(link);
    return link;
  }

  private Comparator<Candidate> order() {
    if (config.transports().isEmpty()) {
      return Comparator.comparingInt(c -> -c.preference);
    }
    return Comparator.comparingInt(c -> config.transports().indexOf(c.transport.name()));
  }

  @Override
  public void disconnect(String peer) {
    OutboundLink link = outbound.get(peer);
    if (link != null) {
      link.close();
      nextTransfers.put(peer, link.nextTransferNumber());
      outbound.remove(peer, link);
    }
  }

  @Override
  public List<PortReport> ports() {
    return portCounters.read(rails());
  }

  @Override
  public List<FlowReport> flows() {
    List<FlowReport> flows = new ArrayList<>();
    outbound.values().forEach(link -> flows.addAll(link.flows()));
    return flows;
  }

  @Override
  public Optional<Identity> probe(String address, Duration timeout) {
    return switch (bootstrap.probe(address, timeout)) {
      case ProbeResult.Found(dev.hawser.engine.bootstrap.Identity who) ->
        Optional.of(new Identity(who.name(), who.epoch(), who.host(), who.pid()));
      case ProbeResult.Refused refused -> Optional.of(new Identity("", 0, "", 0));
      case ProbeResult.Silent silent -> Optional.empty();
    };
  }

  @Override
  public boolean revoke(String peer, String reason, Duration timeout) {
    CountDownLatch fenced = new CountDownLatch(1);
    endInbound(peer, CloseKind.SESSION, reason, fenced::countDown);
    try {
      return fenced.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** For tests: how many initiators have a link here, and how many something is kept of. */
  int inboundLinks() {
    return inbound.size() + workers.stream().mapToInt(Worker::inboundLinks).sum();
  }

  int departedInitiators() {
    return departed.size();
  }

  @Override
  public int poll() {
    int work = 0;
    for (int i = 0; i < workers.size(); i++) {
      work += workers.get(i).help();
    }
    return work;
  }

  @Override
  public boolean await(BooleanSupplier condition, Duration timeout) {
    long start = System.nanoTime();
    long deadline = start + timeout.toNanos();
    long pause = 20_000;
    while (true) {
      if (condition.getAsBoolean()) {
        return true;
      }
      long now = System.nanoTime();
      if (now - deadline >= 0 || Thread.currentThread().isInterrupted()) {
        return condition.getAsBoolean();
      }
      if (now - start < WAIT_SPIN_NANOS) {
        poll();
      } else {
        LockSupport.parkNanos(this, Math.min(pause, deadline - now));
        pause = Math.min(pause * 2, 1_000_000);
      }
    }
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    List<OutboundLink> leaving = List.copyOf(outbound.values());
    leaving.forEach(link -> link.beginClose(CloseKind.AGENT, "agent " + config.name() + " was closed here",
        "its agent is closed"));
    List<String> ending = List.copyOf(inbound.keySet());
    CountDownLatch ended = new CountDownLatch(ending.size());
    for (String initiator : ending) {
      endInbound(initiator, CloseKind.AGENT, config.name() + " closes", ended::countDown);
    }
    leaving.forEach(OutboundLink::awaitGone);
    try {
      if (!ended.await(2, TimeUnit.SECONDS)) {
        System.getLogger("dev.hawser.engine")
            .log(System.Logger.Level.WARNING, "some peers did not let go of " + config.name() + " in time");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    bootstrap.close(); // refused every HELLO in the meantime; what it still had brought is closed by the workers
    workers.forEach(Worker::close);
    for (Transport transport : transports) {
      registry.removeBinder(transport.binder());
      transport.close();
    }
    scratches.forEach(Region::close);
  }
}
