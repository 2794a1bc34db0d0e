/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What moves the bytes of an initiator's requests, by the processor or by a device. For the owner of the path only; nothing
 * of it blocks or allocates in steady state.
 */
public interface Mover {

  /** Judges a request: nothing of it is moved before all of it may be. */
  Verdict judge(Op op, TransferPlan plan, long position, long length);

  /** Changes whenever a verdict of {@link Verdict#WAITING} may have changed though no region's state did. */
  default int version() {
    return 0;
  }

  /** Told of a region before it is used. */
  default void foresee(PeerRegion region, RemoteRegion published) {}

  /** Whether a request of so many bytes is moved when {@link #move} returns, fast enough for the caller's thread. */
  boolean movesAtOnce(TransferPlan plan, long bytes);

  /** A command of the target's that concerns only what moves the bytes. False if that is none of its. */
  default boolean commanded(Command command) {
    return false;
  }

  /** Whether it sent commands to the target since the last call. */
  default boolean hasSent() {
    return false;
  }

  /** Why memory here cannot be used, of the request that was refused last; empty if all is said. */
  default String localObstacle() {
    return "";
  }

  /** The most bytes of one {@link #move}. */
  long sliceBytes();

  /** Whether the first {@link #move} of a request takes so long that it is not for the thread that posts. */
  default boolean isCostly(TransferPlan plan, long position, long length) {
    return false;
  }

  /** How often {@link #move} is called in one poll, at most. */
  default int movesPerPoll() {
    return 256;
  }

  /**
   * Begins to move the next slice of a request that was judged {@link Verdict#READY}.
   *
   * @param position where in the plan it begins
   * @param length bytes left of the request
   * @return bytes that will be moved, more than 0 unless {@code length} is 0 or there is no room now; −1 if it failed, see
   *     {@link #lost} and {@link #fault}
   */
  long move(Op op, TransferPlan plan, long position, long length);

  /** The number of the last slice that was begun. */
  default long begun() {
    return 0;
  }

  /** Whether all slices up to a number have ended well; false if one failed, see {@link #fault}. */
  default boolean isDone(long number) {
    return true;
  }

  /** Whether nothing that was begun touches memory any more, here or at the target. */
  default boolean isIdle() {
    return true;
  }

  /**
   * How the request ends at whose memory a {@link #move} failed because it is not there any more; the path is good for
   * others. Null if none did since the last call.
   */
  default @Nullable Loss lost() {
    return null;
  }

  /**
   * The same of slices that were begun well, those before a number, which {@linkplain #isDone are done}: how the request ends
   * that they belong to. Null if none was lost, or it was told.
   */
  default @Nullable Loss lostBefore(long number) {
    return null;
  }

  /** Why something failed; null if nothing did since the last call. */
  @Nullable
  PathFault fault();

  /**
   * Lets go of regions that the target wants back; nothing under way uses them.
   *
   * @return false if that cannot be done yet: it may be begun, and is asked for again
   */
  default boolean letGo(List<PeerRegion> regions) {
    return true;
  }

  /**
   * Lets go of everything. It is {@linkplain #isIdle idle}.
   *
   * @return false if that cannot be done yet: it was begun, and is asked for again
   */
  boolean end();
}
