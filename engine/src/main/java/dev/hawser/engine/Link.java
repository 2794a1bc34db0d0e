/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.telemetry.FlowReport;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The way from this agent, as initiator, to one incarnation of a peer: its session and all its
 * paths on every rail. It connects by itself in the background and again after a failure, as long
 * as it is open and the peer's epoch stands. Thread-safe.
 */
public interface Link extends AutoCloseable {

  /** What a link is doing. */
  enum State {
    /** No path yet, or none any more; attempts go on in the background. */
    CONNECTING,
    /** At least one path is up. */
    UP,
    /** The peer refused for good, or its epoch is over: every transfer fails with the reason. */
    REFUSED,
    /** Closed by the user. */
    CLOSED
  }

  /**
   * One path as seen now; for reports and errors.
   *
   * @param transport its transport
   * @param rail ours
   * @param remoteRail the peer's
   * @param path its number within the link
   * @param generation the one that is up; 0 if none is
   * @param up whether it can be used now
   * @param bytesWritten acknowledged by the peer, all generations together
   * @param bytesRead arrived here, likewise
   * @param latency of chunks, from the post to the acknowledgement; not every chunk is timed
   * @param lastFault why it failed the last time; empty if it never did
   */
  record PathReport(
      String transport,
      String rail,
      String remoteRail,
      int path,
      int generation,
      boolean up,
      long bytesWritten,
      long bytesRead,
      LatencyCounts latency,
      String lastFault) {

    /** In both directions. */
    public long bytesAcknowledged() {
      return bytesWritten + bytesRead;
    }
  }

  String peer();

  /** The peer's epoch that this link belongs to. */
  long peerEpoch();

  State state();

  /**
   * Waits until a path is up.
   *
   * @throws LinkException if the peer refused, or the time is over; the message has each path's own
   *     reason
   */
  void awaitUp(Duration timeout);

  /** Every path. */
  List<PathReport> paths();

  /** What flows over each path now, and what is wrong with it. Any thread; waits for nothing. */
  List<FlowReport> flows();

  /** By transport name, why it is not used for this peer: never silent about a downgrade. */
  Map<String, String> unused();

  /**
   * Says that transfers will use this region of the peer's, so that what takes time at its first use (mapping it) is
   * done before, in the background. {@link #prepare} says it of its plan's regions. Does not wait; nothing fails here.
   */
  void foresee(RemoteRegion region);

  /**
   * Makes a transfer that can be posted again and again, one post at a time.
   *
   * @param plan its bytes; both sides resolved against regions. A plan of no bytes carries only a
   *     notification
   */
  Transfer prepare(DataRequest.Op op, TransferPlan plan);

  /** Fails what is under way, settles local memory, says CLOSE to the peer. */
  @Override
  void close();
}
