/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.memory.Device;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The rings that one path has: one for each device that it met. For the path's owner. */
public final class PathStaging {
  /** Whether there is a ring. */
  public enum State {
    /** There is. */
    READY,
    /** It is being made; ask again. */
    WAITING,
    /** It could not be made, see {@link #whyNot}. */
    ABSENT
  }

  /** What a transport does with a ring for the path that has it. */
  public interface Use {
    /** Before the path has it, in the background; may take time. What it throws is why there is none. */
    void begin(StagingRing ring);

    /** When the path gives it back, or cannot have it. */
    void end(StagingRing ring);
  }

  private static final Use NOTHING =
      new Use() {
        @Override
        public void begin(StagingRing ring) {}

        @Override
        public void end(StagingRing ring) {}
      };

  private record Making(Device device, CompletableFuture<StagingRing> ring) {}

  private final Staging staging;
  private final Use use;
  private final List<Making> made = new ArrayList<>();

  /** None yet. */
  public PathStaging(Staging staging) {
    this(staging, NOTHING);
  }

  /** None yet; each is put to a use of its path's before it has it. */
  public PathStaging(Staging staging, Use use) {
    this.staging = staging;
    this.use = use;
  }

  /** Whether there is a ring for a device; begins to make it. */
  public State state(Device device) {
    CompletableFuture<StagingRing> ring = making(device);
    return !ring.isDone() ? State.WAITING : ring.isCompletedExceptionally() ? State.ABSENT : State.READY;
  }

  private CompletableFuture<StagingRing> making(Device device) {
    for (int i = 0; i < made.size(); i++) {
      if (made.get(i).device().equals(device)) {
        return made.get(i).ring();
      }
    }
    CompletableFuture<StagingRing> ring = staging.ring(device, use);
    made.add(new Making(device, ring));
    return ring;
  }

  /** The ring for a device, which is {@link State#READY}. */
  public StagingRing ring(Device device) {
    return making(device).resultNow();
  }

  /** Why there is none. */
  public String whyNot(Device device) {
    return String.valueOf(making(device).exceptionNow().getMessage());
  }

  /** Whether a ring is being made. */
  public boolean isMaking() {
    for (int i = 0; i < made.size(); i++) {
      if (!made.get(i).ring().isDone()) {
        return true;
      }
    }
    return false;
  }

  /** Whether no device touches anything any more. */
  public boolean isIdle() {
    for (int i = 0; i < made.size(); i++) {
      CompletableFuture<StagingRing> ring = made.get(i).ring();
      if (!ring.isDone() || (!ring.isCompletedExceptionally() && !ring.resultNow().isIdle())) {
        return false;
      }
    }
    return true;
  }

  /** Gives all rings back; they are {@linkplain #isIdle idle}. */
  public void close() {
    for (Making each : made) {
      if (!each.ring().isCompletedExceptionally()) {
        use.end(each.ring().resultNow());
        staging.give(each.device(), each.ring().resultNow());
      }
    }
    made.clear();
  }

  /** Ends their use, though a device may still be at them: nobody gets them any more. */
  public void abandon() {
    for (Making each : made) {
      CompletableFuture<Void> _ =
          each.ring().handle((ring, failure) -> failure == null ? ring : null).thenAccept(ring -> {
            if (ring != null) {
              use.end(ring);
            }
          });
    }
    made.clear();
  }
}
