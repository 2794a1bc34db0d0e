/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import com.sun.management.OperatingSystemMXBean;
import dev.hawser.agent.Agent;
import dev.hawser.agent.AgentException;
import dev.hawser.agent.AgentListener;
import dev.hawser.agent.Peer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.memory.Device;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One process of a bench. As a target it lends memory and fills and checks it when asked; as an initiator it opens
 * directions to others, for itself or because another node asks. All of that is agreed over one agent; requests are
 * posted by agents of their own, one for each transport, so that each transport is measured alone. Thread-safe.
 */
final class BenchNode implements AutoCloseable {
  private static final Duration CONNECT = Duration.ofSeconds(20);
  private static final Duration NOTIFY = Duration.ofSeconds(10);
  private static final Duration CALL = Duration.ofMinutes(2);

  private final NodeConfig config;
  private final Agent agent;
  private final ControlChannel control;
  private final RailChoice rails;
  private final Map<String, Agent> byTransport = new ConcurrentHashMap<>();
  private final Map<Long, LentMemory> lent = new ConcurrentHashMap<>();
  private final Map<Long, Direction> driven = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  BenchNode(NodeConfig config) {
    this.config = config;
    this.control = new ControlChannel(this::send, this::answer);
    this.agent = Agent.builder(settings(config.name()).transferTimeout(NOTIFY).build()).listener(new AgentListener() {
      @Override
      public void peerLost(String peer, long peerEpoch, String reason) {
        control.lost(peer, reason);
      }
    }).start();
    this.rails = new RailChoice(config.rails());
    agent.onNotification(notification -> control.received(notification.peer(), notification.payload()));
    boolean started = false;
    try {
      rails.check(agent.rails());
      started = true;
    } finally {
      if (!started) {
        agent.close();
      }
    }
  }

  private HawserConfig.Builder settings(String name) {
    HawserConfig.Builder settings = HawserConfig.builder().name(name).metadata(config.metadata().toString());
    if (!config.listen().isEmpty()) {
      settings.listen(config.listen().toArray(String[]::new));
    }
    if (config.paths() > 0) {
      settings.pathsPerRoute(config.paths());
    }
    return settings;
  }

  String name() {
    return config.name();
  }

  /** The transports that work here. */
  Set<String> transports() {
    return agent.transports();
  }

  /** Whether a transport has none of the rails that are asked for. */
  boolean isOffRails(String transport) {
    return rails.leavesOut(transport, agent.rails());
  }

  /** By transport, why it does not. */
  Map<String, String> absentTransports() {
    return agent.absentTransports();
  }

  /**
   * Waits until a node can be called.
   *
   * @throws BenchException if it cannot in time
   */
  void awaitNode(String peer, Duration timeout) {
    agent.peer(peer, timeout).awaitConnected(timeout);
  }

  /**
   * Asks a node for a sign of life.
   *
   * @throws BenchException if none comes
   */
  void requireAnswer(String peer) {
    control.call(peer, new Message("cpu"), NOTIFY);
  }

  /** Whether a node still answers. */
  boolean answers(String peer) {
    try {
      requireAnswer(peer);
      return true;
    } catch (BenchException | AgentException e) {
      System.getLogger(BenchNode.class.getName()).log(System.Logger.Level.DEBUG, e.getMessage());
      return false;
    }
  }

  /** Processor time of a node's process so far, nanoseconds. */
  long cpuNanos(String node) {
    return node.equals(name())
        ? system.getProcessCpuTime()
        : control.call(node, new Message("cpu"), CALL).number("nanos");
  }

  /** The transports that work at a node. */
  Set<String> transports(String node) {
    return node.equals(name())
        ? transports()
        : Set.copyOf(control.call(node, new Message("transports"), CALL).text("names").lines().toList());
  }

  /**
   * Opens a direction.
   *
   * @param initiator the node that posts; this one or another
   * @param target the node whose memory is read and written
   * @param direction its transport and its memory
   * @throws BenchException if the transport does not work between the two, with its reason
   */
  Direction open(String initiator, String target, DirectionConfig direction) {
    if (initiator.equals(name())) {
      return openHere(target, direction);
    }
    Message request = new Message("drive").put("target", target);
    direction.writeTo(request);
    long drive = control.call(initiator, request, CALL).number("drive");
    return new RemoteDirection(control, initiator, target, drive);
  }

  private Direction openHere(String target, DirectionConfig direction) {
    String transport = direction.transport();
    if (transports().contains(transport) && isOffRails(transport)) {
      throw new BenchException("none of --rails " + String.join(",", config.rails()) + " is a rail of " + transport);
    }
    Agent poster = byTransport.computeIfAbsent(direction.transport(),
        name -> Agent.builder(settings(name() + "." + name).transports(name)
            .rails(rails.of(name, agent.rails()).toArray(String[]::new)).build()).start());
    Peer peer = poster.peer(target, CONNECT);
    awaitConnected(peer, direction.transport());
    long number = numbers.incrementAndGet();
    long seed = System.nanoTime() ^ (number << 56);
    Message opened = control.call(target, new Message("open").put("bytes", direction.bytes())
        .put("memory", direction.targetMemory().text()).put("seed", seed), CALL);
    poster.addPeer(opened.bytes("metadata"));
    BenchMemory memory =
        BenchMemory.open(poster, "bench-local-" + number, direction.bytes(), direction.initiatorMemory());
    return new LocalDirection(poster, peer, control, memory, new LocalDirection.BlockSpace(opened.number("lease"),
        opened.number("address"), Device.parse(opened.text("device"))), seed);
  }

  private static void awaitConnected(Peer peer, String transport) {
    try {
      peer.awaitConnected(CONNECT);
    } catch (RuntimeException e) {
      throw new BenchException("no path to '" + peer.name() + "' over " + transport + ": " + e.getMessage(), e);
    }
  }

  private void send(String peer, byte[] payload) {
    agent.notify(agent.peer(peer), payload).whenComplete((_, failure) -> {
      if (failure != null) {
        control.lost(peer, String.valueOf(failure.getMessage()));
      }
    });
  }

  private Message answer(String peer, Message request) {
    return switch (request.verb()) {
      case "cpu" -> new Message("done").put("nanos", system.getProcessCpuTime());
      case "transports" -> new Message("done").put("names", String.join("\n", transports()));
      case "open" -> lend(request);
      case "arm" -> {
        lease(request).arm(Op.valueOf(request.text("op")), request.number("bytes"), request.number("generation"));
        yield new Message("done");
      }
      case "check" -> {
        String wrong = lease(request).check(Op.valueOf(request.text("op")), request.number("bytes"),
            request.number("generation"), Verify.valueOf(request.text("verify")));
        yield wrong == null ? new Message("done") : new Message("done").put("wrong", wrong);
      }
      case "close" -> {
        lease(request).close();
        lent.remove(request.number("lease"));
        yield new Message("done");
      }
      case "drive" -> drive(peer, request);
      case "drive.close" -> {
        Direction direction = driven.remove(request.number("drive"));
        if (direction != null) {
          direction.close();
        }
        yield new Message("done");
      }
      default -> RemoteDirection.serve(driven(request), request);
    };
  }

  private Message lend(Message request) {
    long lease = numbers.incrementAndGet();
    BenchMemory memory = BenchMemory.open(agent, "bench-" + lease, request.number("bytes"),
        MemoryKind.parse(request.text("memory")));
    lent.put(lease, new LentMemory(memory, request.number("seed"), config.plant()));
    return new Message("opened").put("lease", lease).put("address", memory.address())
        .put("device", memory.region().device().toString()).put("metadata", agent.metadata(false, memory.region()));
  }

  private LentMemory lease(Message request) {
    LentMemory memory = lent.get(request.number("lease"));
    if (memory == null) {
      throw new BenchException("no memory is lent under the number " + request.number("lease") + "; open it first");
    }
    return memory;
  }

  private Message drive(String peer, Message request) {
    long number = numbers.incrementAndGet();
    String target = request.text("target");
    driven.put(number, openHere(target.isEmpty() ? peer : target, DirectionConfig.readFrom(request)));
    return new Message("driving").put("drive", number);
  }

  private Direction driven(Message request) {
    Direction direction = driven.get(request.number("drive"));
    if (direction == null) {
      throw new BenchException("no direction has the number " + request.number("drive") + "; open it first");
    }
    return direction;
  }

  @Override
  public void close() {
    List<AutoCloseable> all = new ArrayList<>(byTransport.values());
    all.add(agent);
    RuntimeException first = null;
    for (AutoCloseable each : all) {
      try {
        each.close();
      } catch (Exception e) {
        RuntimeException failure =
            e instanceof RuntimeException runtime ? runtime : new BenchException("cannot close " + each, e);
        if (first == null) {
          first = failure;
        } else {
          first.addSuppressed(failure);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
