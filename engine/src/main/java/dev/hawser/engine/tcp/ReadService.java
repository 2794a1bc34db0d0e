/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.RegionUses;
import dev.hawser.engine.staging.RequestCheck;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.memory.Device;
import java.util.function.LongToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The READs that a target has taken and not yet answered, answered in order and in pieces, as far as the peer takes
 * them: what a peer does not read costs no memory here. Owner thread only; allocates nothing in steady state.
 */
final class ReadService {
  static final int READS = Outstanding.DATA_SLOTS;
  static final int SEGMENTS = 8192;

  /** Native memory that it needs. */
  static final long NATIVE_BYTES = (long) SEGMENTS * FrameLayout.SEGMENT_BYTES;

  /** The other frames get their turn between two pieces. */
  private static final long PIECE_BYTES = 1 << 20;

  /** Queued at most before it has been sent. */
  private static final long AHEAD_BYTES = 2 * PIECE_BYTES;

  private final long segments;
  private final PathStaging staging;
  private final StagedOutput stagedOut;
  private final LongToIntFunction lostRegions;
  private final long[] sequences = new long[READS];
  private final long[] transfers = new long[READS];
  private final boolean[] withdrawn = new boolean[READS]; // the peer does not want what has not been queued
  private final int[] counts = new int[READS]; // segments that have not been queued
  private final long[] remaining = new long[READS];
  private final long[] trailers = new long[READS]; // addresses of the frames that end them
  private final long[] endPlaces = new long[READS];
  private final @Nullable RegionUses[] uses = new @Nullable RegionUses[READS];

  // Taken: [first, first + taken); of these the first `queued` are in the send queue completely.
  private int first;
  private int taken;
  private int queued;
  private long head; // segment of the READ that is being queued
  private long tail;
  private boolean admitted; // that READ
  private boolean lost; // something of that READ is not there any more
  private int lostRegion;
  private long offset; // in its first segment
  private Device device = Device.HOST; // of that READ, if it is to be staged

  /**
   * None.
   *
   * @param lostRegions is told where memory is not there any more, and gives the id of its region
   */
  ReadService(long segments, PathStaging staging, StagedOutput stagedOut, LongToIntFunction lostRegions) {
    this.lostRegions = lostRegions;
    this.segments = segments;
    this.staging = staging;
    this.stagedOut = stagedOut;
  }

  private static int slot(int index) {
    return index & (READS - 1);
  }

  private long segment(long index) {
    return segments + (index & (SEGMENTS - 1)) * FrameLayout.SEGMENT_BYTES;
  }

  /** True if a READ of so many segments can be taken: a peer that keeps to the limits never sees false. */
  boolean fits(int count) {
    return taken < READS && SEGMENTS - (tail - head) >= count;
  }

  /** Takes a READ. */
  void take(long sequence, long transfer, int count, long from, long length) {
    for (int i = 0; i < count; i++) {
      RawMemory.copy(from + (long) i * FrameLayout.SEGMENT_BYTES, segment(tail++), FrameLayout.SEGMENT_BYTES);
    }
    int slot = slot(first + taken);
    sequences[slot] = sequence;
    transfers[slot] = transfer;
    withdrawn[slot] = false;
    counts[slot] = count;
    remaining[slot] = length;
    taken++;
  }

  /** The peer does not want a transfer's READs any more: those that have not been answered end behind what was queued. */
  void withdraw(long transfer) {
    for (int i = queued; i < taken; i++) {
      int slot = slot(first + i);
      withdrawn[slot] |= transfers[slot] == transfer;
    }
  }

  boolean isIdle() {
    return taken == queued;
  }

  /** Gives back the uses of READs whose bytes have all been sent. */
  void release(SendQueue out) {
    while (queued > 0 && out.sentUpTo(endPlaces[slot(first)])) {
      uses(slot(first)).releaseAll();
      first++;
      taken--;
      queued--;
    }
  }

  /** Queues data as far as there is room, keeping the room for messages back. */
  void serve(RequestCheck check, Answers answers, SendQueue out) {
    // Data of a later READ never overtake a refusal: both are answers to READs, and those come in order.
    while (taken > queued && roomFor(out) && !answers.hasRefusals()) {
      int slot = slot(first + queued);
      if (!admitted) {
        WorkStatus status = withdrawn[slot] ? WorkStatus.WITHDRAWN : admit(slot, check);
        if (status != WorkStatus.SUCCESS) {
          uses(slot).releaseAll();
          answers.refuse(sequences[slot], status, 0);
          answers.queue(out);
          head += counts[slot];
          endPlaces[slot] = out.tail();
          queued++;
          continue;
        }
        admitted = true;
        lost = false;
        offset = 0;
        device = check.device();
      }
      if (lost || withdrawn[slot]) {
        head += counts[slot];
        end(slot, out);
      } else if (device.isHost()) {
        queuePiece(slot, out);
      } else if (!queueStaged(slot, check, out)) {
        return;
      }
    }
  }

  private static boolean roomFor(SendQueue out) {
    return out.pendingBytes() < AHEAD_BYTES
        && out.freePlaces() > SendQueue.PLACES / 2
        && out.freeControlInAll() > TcpConnection.RESERVED_CONTROL_BYTES;
  }

  private WorkStatus admit(int slot, RequestCheck check) {
    RegionUses held = uses(slot);
    check.begin();
    for (int i = 0; i < counts[slot]; i++) {
      long at = segment(head + i);
      WorkStatus status =
          check.admit(
              FrameLayout.segmentRegion(at),
              FrameLayout.segmentAddress(at),
              FrameLayout.segmentLength(at),
              false,
              held);
      if (status != WorkStatus.SUCCESS) {
        return status;
      }
    }
    if (!check.device().isHost() && staging.state(check.device()) == PathStaging.State.ABSENT) {
      return WorkStatus.REMOTE_ACCESS;
    }
    return WorkStatus.SUCCESS;
  }

  private long beginPiece(int slot, SendQueue out) {
    long length = Math.min(remaining[slot], PIECE_BYTES);
    long header = out.control(FrameLayout.HEADER_BYTES);
    FrameLayout.writeHeader(header, FrameLayout.READ_DATA, 0, 0, 0, sequences[slot], length, 0);
    out.append(header, FrameLayout.HEADER_BYTES);
    return length;
  }

  private void endPiece(int slot, SendQueue out, long length) {
    remaining[slot] -= length;
    if (remaining[slot] == 0) {
      end(slot, out);
    }
  }

  /** Says that all has been sent, or that it could not be or is not wanted any more. */
  private void end(int slot, SendQueue out) {
    trailers[slot] = out.control(FrameLayout.HEADER_BYTES);
    FrameLayout.writeHeader(
        trailers[slot], FrameLayout.READ_DATA, FrameLayout.FLAG_LAST, 0, 0, sequences[slot], 0, 0);
    if (lost) {
      refuse(slot, WorkStatus.REMOTE_UNMAPPED, lostRegion);
    } else if (remaining[slot] > 0) {
      refuse(slot, WorkStatus.WITHDRAWN, 0);
    }
    out.append(trailers[slot], FrameLayout.HEADER_BYTES);
    admitted = false;
    endPlaces[slot] = out.tail();
    queued++;
  }

  private void refuse(int slot, WorkStatus why, int region) {
    FrameLayout.writeHeader(
        trailers[slot],
        FrameLayout.NACK,
        Answers.code(why),
        0,
        region,
        sequences[slot],
        0,
        0);
  }

  /** A place in the send queue, of some READ, is not there any more: the READ ends as refused, behind what was announced. */
  void lost(long place, int region) {
    for (int i = 0; i < queued; i++) {
      int slot = slot(first + i);
      if (endPlaces[slot] - place > 0) {
        refuse(slot, WorkStatus.REMOTE_UNMAPPED, region);
        return;
      }
    }
    lost = true;
    lostRegion = region;
  }

  /** As {@link #queuePiece}, through a slot that a device fills; false if there is none now. */
  private boolean queueStaged(int slot, RequestCheck check, SendQueue out) {
    if (staging.state(device) != PathStaging.State.READY) {
      return false;
    }
    StagingRing ring = staging.ring(device);
    if (!stagedOut.hasRoom() || ring.free() == 0 || !ring.tryBegin(true)) {
      return false;
    }
    int staged = ring.take();
    long host = ring.address(staged);
    long length = beginPiece(slot, out);
    long left = length;
    while (left > 0) {
      long at = segment(head);
      long n = Math.min(left, FrameLayout.segmentLength(at) - offset);
      long from = FrameLayout.segmentAddress(at) + offset;
      if (check.deviceOf(FrameLayout.segmentRegion(at)).isHost()) {
        if (!RawMemory.tryCopy(from, host, n)) {
          lost = true; // as many bytes as were announced follow all the same
          lostRegion = lostRegions.applyAsInt(from);
        }
      } else {
        ring.add(true, from, host, n);
      }
      host += n;
      left -= n;
      advance(slot, at, n);
    }
    ring.submit(true, staged);
    out.append(ring.address(staged), length);
    stagedOut.add(out, ring, staged);
    endPiece(slot, out, length);
    return true;
  }

  private void advance(int slot, long at, long bytes) {
    offset += bytes;
    if (offset == FrameLayout.segmentLength(at)) {
      offset = 0;
      head++;
      counts[slot]--;
    }
  }

  private void queuePiece(int slot, SendQueue out) {
    long length = remaining[slot] == 0 ? 0 : beginPiece(slot, out);
    long left = length;
    while (left > 0) {
      long at = segment(head);
      long n = Math.min(left, FrameLayout.segmentLength(at) - offset);
      out.append(FrameLayout.segmentAddress(at) + offset, n);
      left -= n;
      advance(slot, at, n);
    }
    endPiece(slot, out, length);
  }

  /** Gives back every use: nothing is sent any more. */
  void close() {
    for (int i = 0; i < taken; i++) {
      RegionUses held = uses[slot(first + i)];
      if (held != null) {
        held.releaseAll();
      }
    }
    taken = 0;
    queued = 0;
  }

  private RegionUses uses(int slot) {
    RegionUses held = uses[slot];
    if (held == null) {
      held = new RegionUses();
      uses[slot] = held;
    }
    return held;
  }
}
