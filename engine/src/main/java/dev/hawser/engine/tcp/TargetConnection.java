/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.RegionUses;
import dev.hawser.engine.staging.RequestCheck;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.memory.Device;
import dev.hawser.memory.MemoryRegistry;

/** The end that serves requests, each checked against the registry before a byte of it moves. */
final class TargetConnection extends TcpConnection {
  private final RequestCheck check;
  private final ReadService reads;
  private final RegionUses writeUses = new RegionUses();
  private WorkStatus writeStatus = WorkStatus.SUCCESS; // of the WRITE under way
  private long writeTransfer;
  private boolean writeStaged; // it comes through a slot
  private final LostMemory lostMemory;
  private final boolean peerWithdraws;
  private long withdrawable; // READs, less what was withdrawn: a WITHDRAW takes back one at least

  /**
   * The target's end.
   *
   * @param peerWithdraws whether the initiator may send WITHDRAW
   */
  TargetConnection(PathKey key, BootstrapStream stream, MemoryRegistry registry, PathStaging staging,
      LostMemory lostMemory, boolean peerWithdraws) {
    super(key, stream, ReadService.NATIVE_BYTES, staging);
    this.lostMemory = lostMemory;
    this.peerWithdraws = peerWithdraws;
    this.check = new RequestCheck(registry);
    this.reads = new ReadService(extra, staging, stagedOut, address -> lostMemory.met(address, describe()));
  }

  @Override
  void request(int type, long at, ConnectionEvents events) {
    switch (type) {
      case FrameLayout.WRITE -> write(at);
      case FrameLayout.READ -> read(at);
      case FrameLayout.FLUSH -> flush(at, events);
      case FrameLayout.WITHDRAW -> takeBack(at);
      default -> protocolError(FrameLayout.name(type) + " to a target");
    }
  }

  private void write(long at) {
    if (!inSequence(at) || !isWellFormed(at)) {
      return;
    }
    int segments = FrameLayout.segments(at);
    long length = FrameLayout.length(at);
    Device device = device(at, segments);
    StagingRing ring = null;
    boolean refused = false;
    if (!device.isHost()) {
      PathStaging.State state = staging.state(device);
      refused = state == PathStaging.State.ABSENT || length > StagingRing.SLOT_BYTES;
      if (!refused) {
        if (state == PathStaging.State.WAITING || staging.ring(device).free() == 0 || !stagedIn.hasRoom()) {
          stall();
          return;
        }
        ring = staging.ring(device);
      }
    }
    writeTransfer = FrameLayout.transfer(at);
    writeStatus = refused ? WorkStatus.REMOTE_ACCESS : WorkStatus.SUCCESS;
    writeStaged = ring != null;
    RegionUses uses = ring == null ? writeUses : beginStaged(ring, FrameLayout.sequence(at));
    in.beginPlaces();
    check.begin();
    for (int i = 0; i < segments && writeStatus == WorkStatus.SUCCESS; i++) {
      long segment = segment(at, i);
      long address = FrameLayout.segmentAddress(segment);
      long bytes = FrameLayout.segmentLength(segment);
      writeStatus = check.admit(FrameLayout.segmentRegion(segment), address, bytes, true, uses);
      if (writeStatus != WorkStatus.SUCCESS) {
        break;
      }
      if (writeStaged) {
        stagedIn.add(address, bytes, check.onDevice());
      } else {
        in.addPlace(address, bytes);
        if (!check.isAllocated()) {
          in.mayBeLost();
        }
      }
    }
    in.consume(FrameLayout.HEADER_BYTES + segments * FrameLayout.SEGMENT_BYTES);
    expectPayload();
    if (writeStatus == WorkStatus.SUCCESS) {
      if (ring != null) {
        in.addPlace(stagedIn.address(), length);
      }
      in.beginPayload(length);
    } else {
      if (writeStaged) {
        writeStaged = false;
        stagedIn.undo();
      }
      writeUses.releaseAll();
      in.beginPlaces();
      in.beginDiscarding(length);
    }
  }

  /** The device that the segments lie on; the host if they do not, or lie nowhere that is known. */
  private Device device(long at, int segments) {
    for (int i = 0; i < segments; i++) {
      Device device = check.deviceOf(FrameLayout.segmentRegion(segment(at, i)));
      if (!device.isHost()) {
        return device;
      }
    }
    return Device.HOST;
  }

  private RegionUses beginStaged(StagingRing ring, long sequence) {
    stagedIn.begin(sequence, ring, ring.take());
    return stagedIn.uses();
  }

  @Override
  void payloadCame(ConnectionEvents events) {
    long sequence = taken() + 1;
    if (writeStaged) {
      // It is acknowledged when the device has it.
      writeStaged = false;
      stagedIn.arrived();
      taken(sequence);
      return;
    }
    writeUses.releaseAll();
    int region = 0;
    if (in.lost() != 0) {
      region = lostMemory.met(in.lost(), describe());
      writeStatus = WorkStatus.REMOTE_UNMAPPED;
    }
    if (writeStatus != WorkStatus.SUCCESS) {
      answers.refuse(sequence, writeStatus, region);
      events.refused(this, writeTransfer);
    }
    processed(sequence);
  }

  @Override
  void placed(long sequence) {
    answers.processed(stagedIn.isEmpty() ? taken() : stagedIn.first() - 1);
  }

  /** What is acknowledged is everything up to a number. */
  @Override
  void processed(long sequence) {
    if (stagedIn.isEmpty()) {
      super.processed(sequence);
    } else {
      taken(sequence);
    }
  }

  /** What others are told of data comes behind the data. */
  @Override
  boolean waits(int type) {
    return switch (type) {
      case FrameLayout.WRITE, FrameLayout.ACK, FrameLayout.WITHDRAW -> false;
      default -> !stagedIn.isEmpty();
    };
  }

  private void read(long at) {
    if (!inSequence(at) || !isWellFormed(at)) {
      return;
    }
    int segments = FrameLayout.segments(at);
    if (!reads.fits(segments)) {
      protocolError("more READs than were agreed on");
      return;
    }
    reads.take(
        FrameLayout.sequence(at), FrameLayout.transfer(at), segments, segment(at, 0), FrameLayout.length(at));
    withdrawable++;
    in.consume(FrameLayout.HEADER_BYTES + segments * FrameLayout.SEGMENT_BYTES);
    processed(taken() + 1);
  }

  /** READs of that transfer may have been answered meanwhile: then there is nothing to do. */
  private void takeBack(long at) {
    if (!peerWithdraws) {
      protocolError("WITHDRAW, which was not agreed on");
      return;
    }
    if (FrameLayout.flags(at) != 0 || FrameLayout.sequence(at) != 0 || FrameLayout.length(at) != 0) {
      protocolError(
          "WITHDRAW with flags " + FrameLayout.flags(at) + ", sequence number " + FrameLayout.sequence(at)
              + " and a length of " + FrameLayout.length(at));
      return;
    }
    if (withdrawable == 0) {
      protocolError("more WITHDRAWs than READs");
      return;
    }
    withdrawable--;
    reads.withdraw(FrameLayout.transfer(at));
    in.consume(FrameLayout.HEADER_BYTES);
  }

  private void flush(long at, ConnectionEvents events) {
    int flags = FrameLayout.flags(at);
    if ((flags & ~FrameLayout.FLAG_ABORT) != 0 || FrameLayout.length(at) != 0) {
      protocolError("FLUSH with flags " + flags + " and " + FrameLayout.length(at) + " bytes");
      return;
    }
    if (!inSequence(at)) {
      return;
    }
    long transfer = FrameLayout.transfer(at);
    in.consume(FrameLayout.HEADER_BYTES);
    // Every byte before it has been read to its place by this thread.
    events.flushArrived(this, transfer, flags == FrameLayout.FLAG_ABORT);
    processed(taken() + 1);
  }

  private boolean isWellFormed(long at) {
    int segments = FrameLayout.segments(at);
    long sum = 0;
    for (int i = 0; i < segments; i++) {
      long bytes = FrameLayout.segmentLength(segment(at, i));
      sum += bytes;
      if (bytes == 0) {
        protocolError(FrameLayout.name(FrameLayout.type(at)) + " with an empty segment");
        return false;
      }
    }
    if (sum != FrameLayout.length(at) || FrameLayout.flags(at) != 0) {
      protocolError(
          FrameLayout.name(FrameLayout.type(at))
              + " of "
              + FrameLayout.length(at)
              + " bytes with segments of "
              + sum
              + " and flags "
              + FrameLayout.flags(at));
      return false;
    }
    return true;
  }

  private static long segment(long at, int index) {
    return at + FrameLayout.HEADER_BYTES + (long) index * FrameLayout.SEGMENT_BYTES;
  }

  @Override
  void serve() {
    reads.serve(check, answers, out);
  }

  @Override
  boolean canServe() {
    return !reads.isIdle();
  }

  /** A READ asked for it. As many bytes as were announced follow, and then, instead of its end, that it is refused. */
  @Override
  void lost(long place) {
    reads.lost(place, lostMemory.met(out.address(place), describe()));
    out.blank(place);
  }

  @Override
  void sent() {
    reads.release(out);
  }

  @Override
  void release() {
    writeUses.releaseAll();
    reads.close();
  }
}
