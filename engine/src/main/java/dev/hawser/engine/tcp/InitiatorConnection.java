/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.BootstrapStream;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.net.NetworkInterface;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;

/** The end that posts requests. */
final class InitiatorConnection extends TcpConnection {
  /** Nothing is asked for while more than this is to come that nobody wants: who cancels again and again waits for it. */
  private static final long MOST_UNWANTED_BYTES = 16 << 20;

  /** Of the control bytes kept back for a target's refusals, which an initiator has none of. */
  private static final int WITHDRAW_BYTES = Outstanding.SLOTS * FrameLayout.HEADER_BYTES / 2;

  private final SegmentCursor cursor = new SegmentCursor();
  private final ReadPlaces reads;
  private final @Nullable NetworkInterface device;
  private final boolean peerWithdraws;
  private String localObstacle = "";
  private boolean foreign; // of the request that was looked at last, some local memory may have been freed by its owner

  /** An end of which nobody knows by which interface it goes out. */
  InitiatorConnection(PathKey key, BootstrapStream stream, PathStaging staging, boolean peerWithdraws) {
    this(key, stream, staging, peerWithdraws, null);
  }

  /**
   * The initiator's end.
   *
   * @param peerWithdraws whether the target can be told that READs are not wanted any more
   * @param device the interface that it goes out by; null if that is not known
   */
  InitiatorConnection(PathKey key, BootstrapStream stream, PathStaging staging, boolean peerWithdraws,
      @Nullable NetworkInterface device) {
    super(key, stream, ReadPlaces.NATIVE_BYTES, staging);
    this.reads = new ReadPlaces(extra);
    this.peerWithdraws = peerWithdraws;
    this.device = device;
  }

  /** Sockets are told nothing when their interface loses its link: it is looked at here. */
  @Override
  public long signsOfLife() {
    NetworkInterface out = device;
    if (out != null && isOpen() && !hasLink(out)) {
      fail(new PathFault(PathFault.Kind.PORT_DOWN, describe() + ": interface " + out.getName() + " has no link"));
    }
    return super.signsOfLife();
  }

  private static boolean hasLink(NetworkInterface device) {
    try {
      return device.isUp(); // IFF_UP and IFF_RUNNING
    } catch (SocketException e) {
      return false; // it is gone
    }
  }

  @Override
  public int segmentBudget() {
    if (!isOpen() || !outstanding.hasDataSlot() || reads.unwanted() > MOST_UNWANTED_BYTES) {
      return 0;
    }
    int places = out.freePlaces() - RESERVED_PLACES - 1; // a header is a place
    // The header's bytes are contiguous, so as many again may be lost at the end of the ring.
    int control = (out.freeControlInAll() - RESERVED_CONTROL_BYTES) / 2 - FrameLayout.HEADER_BYTES;
    return Math.max(0, Math.min(Math.min(places, reads.free()), control / FrameLayout.SEGMENT_BYTES));
  }

  @Override
  public boolean postData(long workId, DataRequest request) {
    int budget = Math.min(segmentBudget(), FrameLayout.MAX_SEGMENTS);
    if (budget == 0) {
      return false;
    }
    int segments = count(request, budget);
    if (segments < 0) {
      return false;
    }
    boolean read = request.op() == DataRequest.Op.READ;
    Device device = device(request);
    StagingRing ring = null;
    boolean usable = localMemoryIsUsable(request, read, device);
    localObstacle = "";
    if (usable && !device.isHost()) {
      PathStaging.State state = staging.state(device);
      usable = state != PathStaging.State.ABSENT;
      localObstacle = usable ? "" : staging.whyNot(device);
      if (usable) {
        if (state == PathStaging.State.WAITING || !hasRoom(staging.ring(device), read)) {
          return false;
        }
        ring = staging.ring(device);
        if (!read && !ring.tryBegin(true)) {
          return false;
        }
      }
    }
    // What cannot be done here goes out empty all the same: a sequence number is a slot.
    int carried = usable ? segments : 0;
    long length = usable ? request.length() : 0;
    Outstanding.Kind kind = read && usable ? Outstanding.Kind.READ : Outstanding.Kind.DATA;
    long sequence = outstanding.post(workId, kind, usable ? null : WorkStatus.LOCAL_ACCESS);
    int bytes = FrameLayout.HEADER_BYTES + carried * FrameLayout.SEGMENT_BYTES;
    long at = out.control(bytes);
    int type = read && usable ? FrameLayout.READ : FrameLayout.WRITE;
    FrameLayout.writeHeader(at, type, 0, carried, request.chunk(), sequence, length, request.transfer());
    out.append(at, bytes);
    long begin = out.tail() - 1;
    if (usable && ring != null) {
      placeStaged(request, read, at + FrameLayout.HEADER_BYTES, ring, sequence);
      if (read) {
        reads.post(sequence, request.transfer(), 1, carried, length, false);
      }
    } else if (usable) {
      place(request, read, at + FrameLayout.HEADER_BYTES);
      if (read) {
        reads.post(sequence, request.transfer(), carried, carried, length, foreign);
      }
    }
    outstanding.queued(sequence, begin, out.tail());
    if (kind == Outstanding.Kind.DATA && carried > 0 && ring == null) {
      outstanding.mayBeWithdrawn(sequence, at);
    }
    return true;
  }

  @Override
  public void withdraw(long transfer) {
    if (!isOpen()) {
      return;
    }
    outstanding.withdraw(transfer, out);
    // Their data may come or not: the target is told, where it can be and there is room, to spare the network.
    if (reads.withdraw(transfer, outstanding, in) && peerWithdraws && out.freePlaces() > 2 * RESERVED_MESSAGES
        && out.freeControlInAll() > RESERVED_CONTROL_BYTES - WITHDRAW_BYTES) {
      long at = out.control(FrameLayout.HEADER_BYTES);
      FrameLayout.writeHeader(at, FrameLayout.WITHDRAW, 0, 0, 0, 0, 0, transfer);
      out.append(at, FrameLayout.HEADER_BYTES);
    }
  }

  @Override
  public String localObstacle() {
    return localObstacle;
  }

  /** Segments on the wire; −1 if they are more than {@code budget}. */
  private int count(DataRequest request, int budget) {
    int segments = 0;
    cursor.start(request.plan(), request.position(), request.length());
    while (cursor.next()) {
      segments += (int) ((cursor.length() + FrameLayout.MAX_SEGMENT_BYTES - 1) / FrameLayout.MAX_SEGMENT_BYTES);
      if (segments > FrameLayout.MAX_SEGMENTS) {
        throw new IllegalArgumentException(
            describe() + ": a request of more than " + FrameLayout.MAX_SEGMENTS + " segments");
      }
      if (segments > budget) {
        return -1;
      }
    }
    return segments;
  }

  /** The device of the request's local memory that is not the host's; the host if there is none. */
  private static Device device(DataRequest request) {
    for (int i = 0; i < request.plan().localRegions(); i++) {
      Device device = request.plan().localRegion(i).device();
      if (!device.isHost()) {
        return device;
      }
    }
    return Device.HOST;
  }

  private boolean hasRoom(StagingRing ring, boolean read) {
    return ring.free() > 0 && (read ? stagedIn.hasRoom() : stagedOut.hasRoom());
  }

  private boolean localMemoryIsUsable(DataRequest request, boolean read, Device device) {
    if (!device.isHost() && request.length() > StagingRing.SLOT_BYTES) {
      return false;
    }
    cursor.start(request.plan(), request.position(), request.length());
    Region checked = null;
    foreign = false;
    while (cursor.next()) {
      Region region = cursor.localRegion();
      if (region != checked) {
        boolean reachable = region.device().isHost() || region.device().equals(device);
        if (!reachable || (read && !region.writable())) {
          return false;
        }
        foreign |= !region.isAllocated();
        checked = region;
      }
    }
    return true;
  }

  private void place(DataRequest request, boolean read, long segments) {
    long at = segments;
    cursor.start(request.plan(), request.position(), request.length());
    while (cursor.next()) {
      long done = 0;
      int region = cursor.remoteRegion().id();
      while (done < cursor.length()) {
        long n = Math.min(cursor.length() - done, FrameLayout.MAX_SEGMENT_BYTES);
        FrameLayout.writeSegment(at, cursor.remoteAddress() + done, n, region);
        if (read) {
          reads.add(cursor.localAddress() + done, n);
        } else {
          out.append(cursor.localAddress() + done, n);
        }
        at += FrameLayout.SEGMENT_BYTES;
        done += n;
      }
    }
  }

  /** As {@link #place}, through a slot. */
  private void placeStaged(DataRequest request, boolean read, long segments, StagingRing ring, long sequence) {
    long at = segments;
    int slot = ring.take();
    long host = ring.address(slot);
    long lost = 0;
    if (read) {
      stagedIn.begin(sequence, ring, slot);
      reads.add(host, request.length());
    }
    cursor.start(request.plan(), request.position(), request.length());
    while (cursor.next()) {
      long length = cursor.length();
      boolean onDevice = !cursor.localRegion().device().isHost();
      FrameLayout.writeSegment(at, cursor.remoteAddress(), length, cursor.remoteRegion().id());
      if (read) {
        stagedIn.add(cursor.localAddress(), length, onDevice);
      } else if (onDevice) {
        ring.add(true, cursor.localAddress(), host, length);
      } else if (!RawMemory.tryCopy(cursor.localAddress(), host, length) && lost == 0) {
        lost = cursor.localAddress();
      }
      host += length;
      at += FrameLayout.SEGMENT_BYTES;
    }
    if (!read) {
      ring.submit(true, slot);
      out.append(ring.address(slot), request.length());
      stagedOut.add(out, ring, slot);
    }
    if (lost != 0) {
      outstanding.end(sequence, WorkStatus.LOCAL_UNMAPPED, lost);
      failAt(lost);
    }
  }

  @Override
  void placed(long sequence) {
    outstanding.end(sequence, WorkStatus.SUCCESS, 0);
  }

  /** Some WRITE's: its length was said already, so that the stream ends here, and the other requests go over another. */
  @Override
  void lost(long place) {
    long address = out.address(place);
    outstanding.endAt(place, WorkStatus.LOCAL_UNMAPPED, address);
    failAt(address);
  }

  private void failAt(long address) {
    fail(
        new PathFault(
            PathFault.Kind.ABORTED,
            "%s: local memory at 0x%x is gone: its file was truncated, or it was unmapped".formatted(describe(),
                address)));
  }

  @Override
  boolean waits(int type) {
    return false;
  }

  @Override
  public boolean postFlush(long workId, long transfer, boolean abort) {
    if (!isOpen()
        || !outstanding.hasMessageSlot()
        || out.freePlaces() == 0
        || out.freeControl() < FrameLayout.HEADER_BYTES) {
      return false;
    }
    long sequence = outstanding.post(workId, Outstanding.Kind.MESSAGE, null);
    long at = out.control(FrameLayout.HEADER_BYTES);
    FrameLayout.writeHeader(
        at, FrameLayout.FLUSH, abort ? FrameLayout.FLAG_ABORT : 0, 0, 0, sequence, 0, transfer);
    out.append(at, FrameLayout.HEADER_BYTES);
    return true;
  }

  @Override
  void request(int type, long at, ConnectionEvents events) {
    switch (type) {
      case FrameLayout.READ_DATA -> data(at);
      case FrameLayout.NACK -> refused(at);
      default -> protocolError(FrameLayout.name(type) + " to an initiator");
    }
  }

  private void data(long at) {
    long sequence = FrameLayout.sequence(at);
    long length = FrameLayout.length(at);
    int flags = FrameLayout.flags(at);
    if (reads.isEmpty() || sequence != reads.sequence() || length > reads.remaining()) {
      protocolError("READ_DATA of " + length + " bytes for " + sequence + ", which was not asked for");
      return;
    }
    boolean last = flags == FrameLayout.FLAG_LAST;
    if ((flags != 0 && !last) || last != (length == 0) || (last && reads.remaining() != 0)) {
      protocolError("READ_DATA of " + length + " bytes with flags " + flags);
      return;
    }
    in.consume(FrameLayout.HEADER_BYTES);
    if (last) {
      readEnded();
      return;
    }
    expectPayload();
    reads.take(length, in);
  }

  @Override
  void payloadCame(ConnectionEvents events) {
    reads.lose(in.lost());
  }

  private void readEnded() {
    long lost = reads.lost();
    boolean withdrawn = reads.isWithdrawn(reads.sequence());
    if (stagedIn.isNext(reads.sequence())) {
      if (withdrawn) {
        stagedIn.refused();
      } else {
        stagedIn.arrived();
      }
    } else if (!withdrawn) {
      outstanding.end(reads.sequence(), lost == 0 ? WorkStatus.SUCCESS : WorkStatus.LOCAL_UNMAPPED, lost);
    }
    reads.end();
  }

  private void refused(long at) {
    long sequence = FrameLayout.sequence(at);
    WorkStatus status = Answers.status(FrameLayout.flags(at));
    boolean withdrawn = reads.isWithdrawn(sequence);
    boolean wellFormed = withdrawn
        ? status != WorkStatus.SUCCESS && (status != WorkStatus.WITHDRAWN || peerWithdraws)
        : status != WorkStatus.SUCCESS && status != WorkStatus.WITHDRAWN && outstanding.isPending(sequence)
            && outstanding.kind(sequence) != Outstanding.Kind.MESSAGE;
    if (!wellFormed) {
      protocolError("NACK " + FrameLayout.flags(at) + " of " + sequence + ", which is not under way");
      return;
    }
    if (withdrawn || outstanding.kind(sequence) == Outstanding.Kind.READ) {
      boolean mayHaveBegun = status == WorkStatus.REMOTE_UNMAPPED || status == WorkStatus.WITHDRAWN;
      if (sequence != reads.sequence() || (reads.hasBegun() && !mayHaveBegun)) {
        protocolError("NACK of READ " + sequence + " out of turn");
        return;
      }
      reads.end();
      if (stagedIn.isNext(sequence)) {
        stagedIn.refused();
      }
    }
    long detail = status == WorkStatus.REMOTE_UNMAPPED ? Integer.toUnsignedLong(FrameLayout.chunk(at)) : 0;
    in.consume(FrameLayout.HEADER_BYTES);
    if (!withdrawn) {
      outstanding.end(sequence, status, detail);
    }
  }
}
