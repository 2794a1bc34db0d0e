/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.sim;

import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;

/** Both ends of one simulated path generation, and the network between them. */
public final class SimPair {
  private final SimWorld world;
  private final PathKey key;
  private final SimMode mode;
  private final LandingObserver observer;
  private final SimConnection initiator;
  private final SimConnection target;
  private final BooleanSupplier initiatorDead;
  private final BooleanSupplier targetDead;
  private final IntPredicate allowed;
  private final long delay;
  private final int depth;
  private boolean cut;
  private boolean dark;
  private boolean neverOpened;
  private int survivors;

  SimPair(
      SimWorld world,
      PathKey key,
      SimMode mode,
      LandingObserver observer,
      BooleanSupplier initiatorDead,
      BooleanSupplier targetDead,
      IntPredicate allowed) {
    this.world = world;
    this.key = key;
    this.mode = mode;
    this.observer = observer;
    this.initiatorDead = initiatorDead;
    this.targetDead = targetDead;
    this.allowed = allowed;
    this.delay = 1_000 + world.random(world.chance(300) ? 2_000_000 : 100_000);
    this.depth = 1 + (int) world.random(8);
    this.initiator = new SimConnection(this, world, true);
    this.target = new SimConnection(this, world, false);
  }

  public PathKey key() {
    return key;
  }

  public SimMode mode() {
    return mode;
  }

  public SimConnection initiator() {
    return initiator;
  }

  public SimConnection target() {
    return target;
  }

  LandingObserver observer() {
    return observer;
  }

  boolean allows(int region) {
    return allowed.test(region);
  }

  long delay() {
    return delay;
  }

  int depth() {
    return depth;
  }

  boolean isCut() {
    return cut;
  }

  boolean isDark() {
    return dark;
  }

  boolean initiatorIsDead() {
    return neverOpened || initiatorDead.getAsBoolean();
  }

  /** The initiator never got hold of its end. */
  void neverOpened() {
    neverOpened = true;
    cut();
  }

  boolean targetIsDead() {
    return targetDead.getAsBoolean();
  }

  /** After a cut some of what was under way still lands, late, before the first that is lost. */
  boolean stillLands() {
    return survivors-- > 0;
  }

  /** The path breaks; each end learns of it in its own time, the target perhaps never. */
  public void cut() {
    if (cut) {
      return;
    }
    cut = true;
    survivors = (int) world.random(4);
    PathFault fault = new PathFault(PathFault.Kind.WORK_ERROR, "retry counter exceeded (12)");
    world.after(world.random(delay * 4), () -> initiator.reportFailure(fault));
    if (world.chance(500)) {
      world.after(world.random(delay * 4), () -> target.reportFailure(fault));
    }
  }

  /** A queue pair fails at a request that the target refused: nothing behind it lands. */
  void cutBehindRefusal() {
    cut();
    survivors = 0;
  }

  /** The path swallows everything without a word. */
  public void goDark() {
    dark = true;
    survivors = (int) world.random(4);
  }

  /** A process died: the other end learns of it. */
  public void peerDied(boolean initiatorDied) {
    PathFault fault = new PathFault(PathFault.Kind.RESET, "connection reset by peer (104)");
    if (initiatorDied) {
      initiator.leaveMemory();
      cut = true;
      survivors = (int) world.random(4);
      if (world.chance(600)) {
        world.after(world.random(delay * 4), () -> target.reportFailure(fault));
      }
    } else {
      cut = true;
      survivors = 0;
      world.after(world.random(delay * 4), () -> initiator.reportFailure(fault));
    }
  }
}
