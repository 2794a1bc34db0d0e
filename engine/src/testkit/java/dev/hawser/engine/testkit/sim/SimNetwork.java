/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.sim;

import dev.hawser.engine.bootstrap.Hello;
import dev.hawser.engine.bootstrap.HelloHandler;
import dev.hawser.engine.bootstrap.HelloReply;
import dev.hawser.engine.bootstrap.OpenRequest;
import dev.hawser.engine.bootstrap.OpenResult;
import dev.hawser.engine.bootstrap.PathOpener;
import dev.hawser.engine.bootstrap.Refusal;
import dev.hawser.engine.bootstrap.Welcome;
import dev.hawser.engine.spi.PathFault;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The network between simulated processes: opens path generations and breaks them. */
public final class SimNetwork {

  /** A process that can be reached: an epoch of an agent. */
  public static final class Incarnation {
    private final String name;
    private final long epoch;
    private final HelloHandler handler;
    private boolean dead;

    /** A running process. */
    public Incarnation(String name, long epoch, HelloHandler handler) {
      this.name = name;
      this.epoch = epoch;
      this.handler = handler;
    }

    public boolean isDead() {
      return dead;
    }

    public String name() {
      return name;
    }

    public long epoch() {
      return epoch;
    }
  }

  private record Held(SimPair pair, Incarnation from, Incarnation to) {}

  private final SimWorld world;
  private final SimMode mode;
  private final LandingObserver observer;
  private final Map<String, Incarnation> processes = new HashMap<>();
  private final List<Held> pairs = new ArrayList<>();
  private final List<Integer> refusedRegions = new ArrayList<>();
  private boolean calm;

  /** A network in which every path is of one kind. */
  public SimNetwork(SimWorld world, SimMode mode, LandingObserver observer) {
    this.world = world;
    this.mode = mode;
    this.observer = observer;
  }

  /** Starts a process; it takes the name from an earlier incarnation. */
  public void start(Incarnation process) {
    processes.put(process.name, process);
  }

  /** Ends a process at once; what its NIC had sent may still land. */
  public void kill(Incarnation process) {
    process.dead = true;
    for (Held held : pairs) {
      if (held.from == process || held.to == process) {
        held.pair.peerDied(held.from == process);
      }
    }
  }

  /** No path breaks by itself any more, and new ones come up. */
  public void calm() {
    calm = true;
  }

  /** The target refuses requests for this region from now on. */
  public void refuse(int region) {
    refusedRegions.add(region);
  }

  /**
   * Breaks some path that is up.
   *
   * @param spare whether the last one is spared
   */
  public void breakSomePath(boolean silently, boolean spare) {
    List<SimPair> up =
        pairs.stream().map(Held::pair).filter(p -> !p.isCut() && !p.isDark() && !p.initiator().isAborted()).toList();
    if (up.size() <= (spare ? 1 : 0)) {
      return;
    }
    SimPair victim = up.get((int) world.random(up.size()));
    world.note("environment: path " + victim.key() + (silently ? " goes dark" : " is cut"));
    if (silently) {
      victim.goDark();
    } else {
      victim.cut();
    }
  }

  /** Ends of connections that were never closed though their process lives. */
  public long leaked(Incarnation process) {
    return pairs.stream()
        .filter(h -> h.from == process ? leaks(h.pair.initiator()) : h.to == process && leaks(h.pair.target()))
        .count();
  }

  private static boolean leaks(SimConnection end) {
    return end.isAborted() && !end.isClosed();
  }

  /** Opens paths for this process. */
  public PathOpener opener(Incarnation from) {
    return (request, callback) -> open(from, request, callback);
  }

  private void open(Incarnation from, OpenRequest request, Consumer<OpenResult> callback) {
    Hello hello = request.hello();
    Attempt attempt = new Attempt(from, hello, callback);
    world.after(request.timeoutNanos(), () -> attempt.fail(PathFault.Kind.TIMED_OUT, "no answer in time"));
    if (!calm && world.chance(100)) {
      world.after(delay(), () -> attempt.fail(PathFault.Kind.UNREACHABLE, "connection refused (111)"));
      return;
    }
    world.after(delay(), attempt::reach);
  }

  private long delay() {
    return 1_000 + world.random(500_000);
  }

  private final class Attempt implements HelloReply {
    private final Incarnation from;
    private final Hello hello;
    private final Consumer<OpenResult> callback;
    private @Nullable Incarnation to;
    private boolean over;

    Attempt(Incarnation from, Hello hello, Consumer<OpenResult> callback) {
      this.from = from;
      this.hello = hello;
      this.callback = callback;
    }

    void reach() {
      Incarnation process = processes.get(hello.target());
      if (process == null || process.dead) {
        fail(PathFault.Kind.UNREACHABLE, "connection refused (111)");
        return;
      }
      if (process.epoch != hello.targetEpoch()) {
        answer(
            new OpenResult.Refused(
                new Refusal(
                    Refusal.Code.WRONG_AGENT, "%s is of epoch %d now".formatted(process.name, process.epoch))));
        return;
      }
      to = process;
      process.handler.hello(hello, this);
    }

    @Override
    public void welcome(Welcome welcome) {
      Incarnation target = to;
      if (target == null || target.dead) {
        return;
      }
      SimPair pair =
          new SimPair(
              world,
              hello.key(),
              mode,
              observer,
              from::isDead,
              target::isDead,
              region -> !refusedRegions.contains(region));
      pairs.add(new Held(pair, from, target));
      world.after(
          delay(),
          () -> {
            if (!target.dead) {
              target.handler.connected(hello, welcome, pair.target());
            }
          });
      if (from.dead) {
        pair.peerDied(true);
      } else if (over || (!calm && world.chance(30))) {
        pair.neverOpened(); // the welcome is lost
        world.after(delay(), () -> pair.target().reportFailure(new PathFault(PathFault.Kind.RESET, "gone")));
      } else {
        over = true;
        world.after(
            delay(),
            () -> {
              if (!from.dead) {
                callback.accept(new OpenResult.Opened(pair.initiator(), welcome));
              }
            });
      }
    }

    @Override
    public void refuse(Refusal refusal) {
      answer(new OpenResult.Refused(refusal));
    }

    void fail(PathFault.Kind kind, String why) {
      answer(new OpenResult.Failed(new PathFault(kind, why)));
    }

    private void answer(OpenResult result) {
      if (!over) {
        over = true;
        world.after(
            delay(),
            () -> {
              if (!from.dead) {
                callback.accept(result);
              }
            });
      }
    }
  }
}
