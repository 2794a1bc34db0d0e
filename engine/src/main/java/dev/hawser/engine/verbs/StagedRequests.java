/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The initiator's half of staging: requests that concern memory of a device, here or there, that no NIC registers. Each goes
 * through a slot of pinned memory on every side where that is so: filled by the device, carried by the NIC, emptied by the
 * other device. While one slot is at one stage, others are at theirs. Owner thread only; allocates nothing in steady state.
 */
final class StagedRequests {
  /** Set in what a request is called by in the send queue. */
  static final long STAGED = Long.MIN_VALUE;

  private static final int DEPTH = 2 * StagingRing.SLOTS;

  /** What a request waits for. */
  private enum Stage {
    /** The device here fills its slot here. */
    LEAVING,
    /** Room in the send queue. */
    TO_POST,
    /** Room for messages: the target is to be told what its slot is of. */
    TO_TELL,
    /** The NIC, or the target. */
    AWAITED,
    /** The device here empties its slot here. */
    ENTERING
  }

  private static final class Request {
    final int index;
    long workId;
    Stage stage = Stage.LEAVING;
    boolean write;
    @Nullable
    TransferPlan plan;
    long position;
    long length;
    @Nullable
    StagingRing ring; // null: memory here is registered
    int slot;
    @Nullable
    PeerSlots peer; // null: memory there is
    int peerSlot;
    long told; // bytes whose places the target knows
    boolean posted;
    boolean carried; // by the NIC
    boolean moved; // by the target
    WorkStatus status = WorkStatus.SUCCESS;
    long detail;

    Request(int index) {
      this.index = index;
    }

    TransferPlan plan() {
      TransferPlan known = plan;
      if (known == null) {
        throw new IllegalStateException("a request that has ended");
      }
      return known;
    }
  }

  /** The slots that the target has for one of its devices. */
  private static final class PeerSlots {
    final int number;
    boolean known;
    long address;
    int key;
    String absence = "";
    final int[] free = new int[StagingRing.SLOTS];
    int freeCount = StagingRing.SLOTS;

    PeerSlots(int number) {
      this.number = number;
      Arrays.setAll(free, i -> i);
    }
  }

  /** The keys of memory here. */
  interface LocalKeys {
    /** Those of a region; null if this path's NIC does not register it. */
    @Nullable
    DeviceKeys of(Region region);
  }

  private final SendQueue queue;
  private final RemoteKeys remoteKeys;
  private final LocalKeys localKeys;
  private final int maxPiece;
  private final RegisteredRings rings;
  private final PathStaging staging;
  private final Line line;
  private final SegmentCursor cursor = new SegmentCursor();
  private final SlotMessage message = new SlotMessage();
  private final List<PeerSlots> peerSlots = new ArrayList<>();
  private final Request[] requests = new Request[DEPTH];
  private final int[] order = new int[DEPTH]; // of those under way, as they were posted
  private int count;
  private final int[] free = new int[DEPTH];
  private int freeCount = DEPTH;
  private boolean refusedForNow; // something waits for what is being made
  private boolean flushWaits; // nothing new begins before it
  private String obstacle = "";

  StagedRequests(
      SendQueue queue,
      RemoteKeys remoteKeys,
      LocalKeys localKeys,
      int maxPiece,
      RegisteredRings rings,
      PathStaging staging,
      Line line) {
    this.queue = queue;
    this.remoteKeys = remoteKeys;
    this.localKeys = localKeys;
    this.maxPiece = maxPiece;
    this.rings = rings;
    this.staging = staging;
    this.line = line;
    for (int i = 0; i < DEPTH; i++) {
      requests[i] = new Request(i);
      free[i] = i;
    }
  }

  String obstacle() {
    return obstacle;
  }

  // ------------------------------------------------------------------ posting

  /** As {@link Connection#postData}: of a request that touches memory which no NIC registers. */
  boolean post(long workId, DataRequest asked) {
    obstacle = "";
    TransferPlan plan = asked.plan();
    boolean read = asked.op() == DataRequest.Op.READ;
    Device here = deviceHere(plan, read);
    if (here == null || asked.length() > StagingRing.SLOT_BYTES) {
      queue.addEnded(workId, WorkStatus.LOCAL_ACCESS);
      return true;
    }
    PeerSlots peer = null;
    Device there = deviceThere(plan);
    if (there == null) {
      queue.addEnded(workId, WorkStatus.REMOTE_ACCESS);
      return true;
    }
    if (!there.isHost()) {
      peer = peerSlots(StagedMoves.number(there));
      if (peer == null) {
        return false;
      }
      if (!peer.absence.isEmpty()) {
        obstacle = peer.absence;
        queue.addEnded(workId, WorkStatus.REMOTE_ACCESS);
        return true;
      }
    }
    StagingRing ring = null;
    if (!here.isHost()) {
      switch (staging.state(here)) {
        case READY -> ring = staging.ring(here);
        case WAITING -> {
          refusedForNow = true;
          return false;
        }
        case ABSENT -> {
          obstacle = staging.whyNot(here);
          queue.addEnded(workId, WorkStatus.LOCAL_ACCESS);
          return true;
        }
      }
    }
    if (!hasRoom(ring, peer)) {
      return false;
    }
    if (ring != null && !read && !ring.tryBegin(true)) {
      refusedForNow = true;
      return false;
    }
    begin(workId, asked, ring, peer);
    return true;
  }

  private boolean hasRoom(@Nullable StagingRing ring, @Nullable PeerSlots peer) {
    if (flushWaits || freeCount == 0) {
      return false;
    }
    return (ring == null || ring.free() > 0) && (peer == null || (peer.known && peer.freeCount > 0));
  }

  /** The device of the memory here that goes through slots; the host if none does, null if it cannot be. */
  private @Nullable Device deviceHere(TransferPlan plan, boolean read) {
    Device found = Device.HOST;
    boolean staged = false;
    for (int i = 0; i < plan.localRegions(); i++) {
      Region region = plan.localRegion(i);
      Device device = region.device();
      boolean registered = localKeys.of(region) != null;
      staged |= !registered;
      boolean apart = !device.isHost() && !found.isHost() && !found.equals(device);
      if ((read && !region.writable()) || (device.isHost() && !registered) || apart) {
        obstacle = apart ? "one request may touch memory of one device, and of the host" : "";
        return null;
      }
      found = device.isHost() ? found : device;
    }
    return staged ? found : Device.HOST;
  }

  /** The device of the memory there that goes through slots; the host if none does, null if it cannot be. */
  private @Nullable Device deviceThere(TransferPlan plan) {
    Device found = Device.HOST;
    boolean staged = false;
    for (int i = 0; i < plan.remoteRegions(); i++) {
      RemoteRegion region = plan.remoteRegion(i);
      Device device = region.device();
      boolean registered = remoteKeys.select(region);
      staged |= !registered;
      boolean apart = !device.isHost() && !found.isHost() && !found.equals(device);
      if ((!registered && (device.isHost() || !remoteKeys.isStaged())) || apart) {
        return null;
      }
      found = device.isHost() ? found : device;
    }
    return staged ? found : Device.HOST;
  }

  /** Those of a device of the target's; asks for them if need be. Null if there is no room for the question. */
  private @Nullable PeerSlots peerSlots(int number) {
    PeerSlots known = knownSlots(number);
    if (known != null) {
      return known;
    }
    if (!line.say(message.ask(number))) {
      return null;
    }
    PeerSlots asked = new PeerSlots(number);
    peerSlots.add(asked);
    return asked;
  }

  private @Nullable PeerSlots knownSlots(int number) {
    for (int i = 0; i < peerSlots.size(); i++) {
      if (peerSlots.get(i).number == number) {
        return peerSlots.get(i);
      }
    }
    return null;
  }

  private void begin(long workId, DataRequest asked, @Nullable StagingRing ring, @Nullable PeerSlots peer) {
    Request request = requests[free[--freeCount]];
    order[count] = request.index;
    count++;
    request.workId = workId;
    request.write = asked.op() == DataRequest.Op.WRITE;
    request.plan = asked.plan();
    request.position = asked.position();
    request.length = asked.length();
    request.ring = ring;
    request.slot = ring == null ? 0 : ring.take();
    request.peer = peer;
    request.peerSlot = peer == null ? 0 : peer.free[--peer.freeCount];
    request.told = 0;
    request.posted = false;
    request.carried = false;
    request.moved = peer == null;
    request.status = WorkStatus.SUCCESS;
    request.detail = 0;
    if (request.write && ring != null) {
      place(request, ring, true);
      request.stage = Stage.LEAVING;
    } else {
      request.stage = request.write || peer == null ? Stage.TO_POST : Stage.TO_TELL;
    }
    advance(request);
  }

  /** Lets the device here fill or empty a slot; the batch was begun. */
  private void place(Request request, StagingRing ring, boolean out) {
    long at = ring.address(request.slot);
    cursor.start(request.plan(), request.position, request.length);
    while (cursor.next()) {
      long bytes = cursor.length();
      if (!cursor.localRegion().device().isHost()) {
        ring.add(out, cursor.localAddress(), at, bytes);
      } else if (out) {
        RawMemory.copy(cursor.localAddress(), at, bytes);
      } else {
        RawMemory.copy(at, cursor.localAddress(), bytes);
      }
      at += bytes;
    }
    ring.submit(out, request.slot);
  }

  // ------------------------------------------------------------------ going on

  /**
   * Lets every request go on as far as it can, and tells of those that have ended.
   *
   * @return how much was done
   * @throws dev.hawser.memory.DriverException what made a device fail
   */
  int work(Connection connection, ConnectionEvents to) {
    int done = 0;
    int kept = 0;
    boolean mayTell = true;
    for (int i = 0; i < count; i++) {
      Request request = requests[order[i]];
      Stage before = request.stage;
      boolean ended = (mayTell || before != Stage.TO_TELL) && advance(request);
      mayTell &= request.stage != Stage.TO_TELL; // one after the other
      done += ended || request.stage != before ? 1 : 0;
      if (ended) {
        free[freeCount++] = request.index;
        request.plan = null;
        to.completed(connection, request.workId, request.status, request.detail);
      } else {
        order[kept] = request.index;
        kept++;
      }
    }
    count = kept;
    flushWaits &= hasWrites();
    return done;
  }

  /** True when it has ended; its slots are given back then. */
  private boolean advance(Request request) {
    StagingRing ring = request.ring;
    PeerSlots peer = request.peer;
    if (request.stage == Stage.LEAVING && ring != null && ring.isDone(request.slot)) {
      request.stage = Stage.TO_POST;
    }
    if (request.stage == Stage.TO_POST && draft(request)) {
      queue.postDraft(STAGED | request.index, request.length);
      line.posted();
      request.posted = true;
      request.stage = request.write && peer != null ? Stage.TO_TELL : Stage.AWAITED;
    }
    if (request.stage == Stage.TO_TELL && peer != null && tell(request, peer)) {
      request.stage = Stage.AWAITED;
    }
    if (request.stage == Stage.AWAITED) {
      return awaited(request, ring, peer);
    }
    if (request.stage == Stage.ENTERING && ring != null && ring.isDone(request.slot)) {
      giveHere(request);
      return true;
    }
    return false;
  }

  private boolean awaited(Request request, @Nullable StagingRing ring, @Nullable PeerSlots peer) {
    if (request.status != WorkStatus.SUCCESS && request.posted == request.carried) {
      giveHere(request);
      giveThere(request);
      return true;
    }
    if (!request.moved || (request.posted && !request.carried)) {
      return false;
    }
    if (!request.posted) {
      request.stage = Stage.TO_POST; // the target has filled its slot
      return advance(request);
    }
    if (peer != null) {
      giveThere(request);
      request.peer = null;
    }
    if (request.write || ring == null) {
      giveHere(request);
      return true;
    }
    if (ring.tryBegin(false)) {
      place(request, ring, false);
      request.stage = Stage.ENTERING;
    }
    return false;
  }

  private static void giveHere(Request request) {
    StagingRing ring = request.ring;
    if (ring != null) {
      ring.give(request.slot);
      request.ring = null;
    }
  }

  private static void giveThere(Request request) {
    PeerSlots peer = request.peer;
    if (peer != null) {
      peer.free[peer.freeCount++] = request.peerSlot;
      request.peer = null;
    }
  }

  /** Writes the requests of the NIC's; false if the queue has no room for all of them. */
  private boolean draft(Request request) {
    StagingRing ring = request.ring;
    PeerSlots peer = request.peer;
    long here = ring == null ? 0 : ring.address(request.slot);
    long there = peer == null ? 0 : peer.address + (long) request.peerSlot * StagingRing.SLOT_BYTES;
    boolean read = !request.write;
    cursor.start(request.plan(), request.position, request.length);
    while (cursor.next()) {
      long local = ring == null ? cursor.localAddress() : here;
      long remote = peer == null ? cursor.remoteAddress() : there;
      DeviceKeys keys = ring == null ? localKeys.of(cursor.localRegion()) : null;
      boolean usable = (keys != null || ring != null) && (peer != null || remoteKeys.select(cursor.remoteRegion()));
      long left = cursor.length();
      here += left;
      there += left;
      while (left > 0 && usable) {
        long n = Math.min(left, maxPiece);
        n = keys == null ? n : Math.min(n, keys.reach(local));
        n = peer == null ? Math.min(n, remoteKeys.reach(remote)) : n;
        int localKey = keys != null ? keys.localKey(local) : ring != null ? rings.localKey(ring) : 0;
        int remoteKey = peer == null ? remoteKeys.key(remote) : peer.key;
        if (!queue.draft(read, local, localKey, remote, remoteKey, (int) n, false)) {
          queue.discardDraft();
          return false;
        }
        local += n;
        remote += n;
        left -= n;
      }
    }
    return true;
  }

  /** Tells the target what a slot of its is of, and to move it; false if there was no room for all of it. */
  private boolean tell(Request request, PeerSlots peer) {
    while (request.told < request.length) {
      message.beginPlaces(peer.number, request.peerSlot, request.write);
      long said = 0;
      cursor.start(request.plan(), request.position + request.told, request.length - request.told);
      while (cursor.next()
          && message.addPlace(cursor.remoteAddress(), (int) cursor.length(), cursor.remoteRegion().id())) {
        said += cursor.length();
      }
      if (!line.say(message.endPlaces(request.told + said == request.length))) {
        return false;
      }
      request.told += said;
    }
    return true;
  }

  /** What the send queue says of a request's data. */
  void carried(int index, WorkStatus status, long detail) {
    Request request = requests[index];
    request.carried = true;
    fail(request, status, detail);
  }

  private static void fail(Request request, WorkStatus status, long detail) {
    if (request.status == WorkStatus.SUCCESS) {
      request.status = status;
      request.detail = detail;
    }
  }

  // ------------------------------------------------------------------ what the target says

  /** What the target says; not empty: what is wrong with it. */
  String received(ByteBuffer said) {
    if (!SlotMessage.isWellFormed(said)) {
      return "a message of slots that is damaged";
    }
    int type = SlotMessage.type(said);
    PeerSlots slots = knownSlots(SlotMessage.device(said));
    if (slots == null || type == SlotMessage.ASK || type == SlotMessage.PLACES) {
      return "a message of slots, 0x" + Integer.toHexString(type) + ", that nobody asked for";
    }
    return switch (type) {
      case SlotMessage.SLOTS -> {
        slots.address = SlotMessage.address(said);
        slots.key = SlotMessage.key(said);
        slots.known = true;
        yield "";
      }
      case SlotMessage.NONE -> {
        slots.absence = "the target has no pinned slots for " + SlotMessage.reason(said);
        yield "";
      }
      default -> moved(said, slots);
    };
  }

  private String moved(ByteBuffer said, PeerSlots slots) {
    for (int i = 0; i < count; i++) {
      Request request = requests[order[i]];
      if (request.peer == slots && request.peerSlot == SlotMessage.slot(said) && !request.moved
          && request.stage == Stage.AWAITED) {
        request.moved = true;
        switch (SlotMessage.how(said)) {
          case SlotMessage.WELL -> {}
          case SlotMessage.CLOSED -> fail(request, WorkStatus.REMOTE_REGION_CLOSED, 0);
          default -> fail(request, WorkStatus.REMOTE_ACCESS, 0);
        }
        return "";
      }
    }
    return "that it moved slot " + SlotMessage.slot(said) + ", which it was not told to";
  }

  // ------------------------------------------------------------------ order, rest, end

  /** Whether data of a WRITE may reach their places later than what is posted now. */
  boolean hasWrites() {
    for (int i = 0; i < count; i++) {
      if (requests[order[i]].write) {
        return true;
      }
    }
    return false;
  }

  /** Whether a flush may be posted now; if not, nothing new begins until then. */
  boolean letsFlush() {
    flushWaits = hasWrites();
    return !flushWaits;
  }

  /** Whether nothing but a completion or a message will give it something to do. */
  boolean isAtRest() {
    if (refusedForNow || staging.isMaking()) {
      refusedForNow = false;
      return false;
    }
    for (int i = 0; i < count; i++) {
      Request request = requests[order[i]];
      boolean waits = request.stage == Stage.AWAITED && (!request.moved || (request.posted && !request.carried));
      if (!waits) {
        return false;
      }
    }
    return true;
  }

  /**
   * The path is over, and its NIC does nothing any more: what was refused is told to have been, and all else to have been
   * flushed, once no device touches memory.
   */
  boolean letGo(Connection connection, ConnectionEvents to) {
    if (!staging.isIdle()) {
      return false;
    }
    for (int i = 0; i < count; i++) {
      Request request = requests[order[i]];
      request.plan = null;
      boolean refused = request.status != WorkStatus.SUCCESS;
      to.completed(
          connection, request.workId, refused ? request.status : WorkStatus.FLUSHED, refused ? request.detail : 0);
    }
    count = 0;
    return true;
  }
}
