/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Command;
import dev.hawser.engine.mapped.Loss;
import dev.hawser.engine.mapped.PeerMapping;
import dev.hawser.engine.mapped.PeerRegion;
import dev.hawser.engine.mapped.PeerRegions;
import dev.hawser.engine.mapped.RequestJudge;
import dev.hawser.engine.mapped.Verdict;
import dev.hawser.engine.net.PendingFault;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.SegmentCursor;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.SharedSlots;
import dev.hawser.engine.staging.Staging;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.ffi.NativeCallException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Moves requests that concern memory of devices, a slot's worth at a time: between a device here and a slot of this process,
 * between that and the target's memory of the host or a slot that both map, and from there on by the target. While one slot is
 * at one stage, others are at theirs. Owner thread only; allocates nothing in steady state.
 */
final class StagedMover {
  private static final int WRITE = 2;
  private static final int READ = 1;
  private static final int DEPTH = 2 * StagingRing.SLOTS;

  /** What moves the bytes of a slice now. */
  private enum Stage {
    /** A device here fills the slot of this process. */
    LEAVING,
    /** It is to be handed to the target. */
    READY_TO_GO,
    /** The target moves them. */
    AT_TARGET,
    /** The target has filled the slot. */
    CAME,
    /** A device here empties the slot of this process. */
    ENTERING,
    /** Nothing. */
    DONE
  }

  /** One slice. */
  private static final class Slice {
    Stage stage = Stage.DONE;
    boolean write;
    @Nullable
    StagingRing ring; // null: memory here is the host's
    int slot;
    @Nullable
    PeerSlots peer; // null: memory there is the host's
    int peerSlot;
    long bytes;
    int pieces;
    final long[] here = new long[SharedSlots.ENTRIES];
    final long[] there = new long[SharedSlots.ENTRIES];
    final long[] lengths = new long[SharedSlots.ENTRIES];
    final int[] regions = new int[SharedSlots.ENTRIES];
  }

  /** The slots that the target shares for one of its devices. */
  private static final class PeerSlots {
    final int number;
    final PeerMapping mapping;
    final int[] free = new int[StagingRing.SLOTS];
    int freeCount = StagingRing.SLOTS;

    PeerSlots(int number, PeerMapping mapping) {
      this.number = number;
      this.mapping = mapping;
      for (int i = 0; i < free.length; i++) {
        free[i] = i;
      }
    }
  }

  private final PeerRegions regions;
  private final RequestJudge judge;
  private final DeviceOps host;
  private final HostMover hostMover;
  private final PathStaging staging;
  private final SegmentCursor cursor = new SegmentCursor();
  private final Command command = new Command();
  private final List<PeerSlots> peerSlots = new ArrayList<>();
  private final Slice[] slices = new Slice[DEPTH];
  private final LostSlices losses = new LostSlices();
  private final int peerPid;
  private long begun;
  private long done;
  private int polls; // counted while a ring is being made, so that who waits asks again
  private boolean sent;
  private String localObstacle = "";
  private @Nullable PathFault fault;
  private boolean ended;

  StagedMover(PeerRegions regions, DeviceOps host, HostMover hostMover, int peerPid, Staging staging) {
    this.peerPid = peerPid;
    this.regions = regions;
    this.judge = new RequestJudge(regions, _ -> true);
    this.host = host;
    this.hostMover = hostMover;
    this.staging = new PathStaging(staging);
  }

  int version() {
    return staging.isMaking() ? ++polls : polls;
  }

  String localObstacle() {
    return localObstacle;
  }

  boolean hasSent() {
    boolean was = sent;
    sent = false;
    return was;
  }

  // ------------------------------------------------------------------------------------------ judging

  Verdict judge(Op op, TransferPlan plan, long position, long length) {
    localObstacle = "";
    Device device = device(plan);
    if (device == null) {
      localObstacle = "one request may touch memory of one device, and of the host";
      return Verdict.LOCAL_ACCESS;
    }
    // Regions are asked for while the ring is made; what is wrong here is told before what is wrong there.
    Verdict verdict = judge.judge(op, plan, position, length);
    if (device.isHost()) {
      return verdict;
    }
    return switch (staging.state(device)) {
      case READY -> verdict;
      case WAITING -> {
        polls++;
        yield Verdict.WAITING;
      }
      case ABSENT -> {
        localObstacle = staging.whyNot(device);
        yield Verdict.LOCAL_ACCESS;
      }
    };
  }

  /** The device of the memory here; the host if there is none, null if there are several. */
  private static @Nullable Device device(TransferPlan plan) {
    Device found = Device.HOST;
    for (int i = 0; i < plan.localRegions(); i++) {
      Device device = plan.localRegion(i).device();
      if (!device.isHost()) {
        if (!found.isHost() && !found.equals(device)) {
          return null;
        }
        found = device;
      }
    }
    return found;
  }

  // ------------------------------------------------------------------------------------------ moving

  /** As {@link dev.hawser.engine.mapped.Mover#move}. */
  long move(Op op, TransferPlan plan, long position, long length) {
    if (fault != null) {
      return -1;
    }
    if (length == 0) {
      return 0;
    }
    moveOn();
    if (fault != null) {
      return -1;
    }
    if (begun - done == DEPTH) {
      return 0;
    }
    return begin(op, plan, position, length);
  }

  private long begin(Op op, TransferPlan plan, long position, long length) {
    Slice slice = slice(begun);
    Device device = gather(slice, plan, position, length);
    slice.write = op == Op.WRITE;
    if (device.isHost() && slice.peer == null) {
      return hostMover.move(op, plan, position, slice.bytes);
    }
    StagingRing ring = device.isHost() ? null : staging.ring(device);
    PeerSlots peer = slice.peer;
    if ((ring != null && ring.free() == 0) || (peer != null && peer.freeCount == 0)) {
      return 0;
    }
    // A device here begins at once if it has the bytes, or if they are at hand in the target's memory of the host.
    boolean fromDevice = slice.write && ring != null;
    boolean toDevice = !slice.write && peer == null;
    if ((fromDevice || toDevice) && ring != null && !ring.tryBegin(fromDevice)) {
      return 0;
    }
    slice.ring = ring;
    slice.slot = ring == null ? 0 : ring.take();
    if (peer != null) {
      slice.peerSlot = peer.free[--peer.freeCount];
    }
    if (fromDevice && ring != null) {
      leave(slice, ring);
    } else if (toDevice && ring != null) {
      if (!copyThere(slice, begun, ring.address(slice.slot), false)) {
        ring.submit(false, slice.slot);
        return -1;
      }
      enter(slice, ring); // whatever came, if some of it was not there
    } else if (slice.write && peer != null) {
      if (copyHere(slice, begun, SharedSlots.slot(peer.mapping.base(), slice.peerSlot), true)) {
        slice.stage = Stage.READY_TO_GO;
      } else {
        peer.free[peer.freeCount++] = slice.peerSlot;
        slice.stage = Stage.DONE; // with what is told of it by its number
      }
    } else {
      slice.stage = Stage.READY_TO_GO;
    }
    begun++;
    moveOn();
    return slice.bytes;
  }

  private Slice slice(long number) {
    int at = (int) (number % DEPTH);
    Slice slice = slices[at];
    if (slice == null) {
      slice = new Slice();
      slices[at] = slice;
    }
    return slice;
  }

  /** Collects the pieces of the next slice, alike in where they are: gives the device here, and sets all else in it. */
  private Device gather(Slice slice, TransferPlan plan, long position, long length) {
    cursor.start(plan, position, Math.min(length, StagingRing.SLOT_BYTES));
    slice.pieces = 0;
    slice.bytes = 0;
    slice.peer = null;
    Device device = Device.HOST;
    int number = 0;
    while (slice.pieces < SharedSlots.ENTRIES && cursor.next()) {
      PeerRegion region = regions.get(cursor.remoteRegion().id());
      Device local = cursor.localRegion().device();
      if (slice.pieces == 0) {
        device = local;
        number = region.deviceNumber();
      } else if (!local.equals(device) || region.deviceNumber() != number) {
        break;
      }
      int at = slice.pieces++;
      slice.here[at] = cursor.localAddress();
      slice.there[at] = cursor.remoteAddress();
      slice.lengths[at] = cursor.length();
      slice.regions[at] = region.id();
      slice.bytes += cursor.length();
    }
    if (number != 0) {
      slice.peer = peerSlots(number);
    }
    return device;
  }

  private PeerSlots peerSlots(int number) {
    for (int i = 0; i < peerSlots.size(); i++) {
      if (peerSlots.get(i).number == number) {
        return peerSlots.get(i);
      }
    }
    throw new IllegalStateException("the target lent memory of device " + number + " before its slots");
  }

  private static void leave(Slice slice, StagingRing ring) {
    long at = ring.address(slice.slot);
    for (int i = 0; i < slice.pieces; i++) {
      ring.add(true, slice.here[i], at, slice.lengths[i]);
      at += slice.lengths[i];
    }
    ring.submit(true, slice.slot);
    slice.stage = Stage.LEAVING;
  }

  /** The batch was begun. */
  private static void enter(Slice slice, StagingRing ring) {
    long at = ring.address(slice.slot);
    for (int i = 0; i < slice.pieces; i++) {
      ring.add(false, slice.here[i], at, slice.lengths[i]);
      at += slice.lengths[i];
    }
    ring.submit(false, slice.slot);
    slice.stage = Stage.ENTERING;
  }

  /** Copies between a slot and memory of the host here; false if that is gone. */
  private boolean copyHere(Slice slice, long number, long slot, boolean out) {
    long at = slot;
    try {
      for (int i = 0; i < slice.pieces; i++) {
        host.copy(out ? slice.here[i] : at, out ? at : slice.here[i], slice.lengths[i]);
        at += slice.lengths[i];
      }
      PendingFault.raise();
      return true;
    } catch (InternalError e) {
      // How the JVM reports SIGBUS.
      losses.add(number, MissingMemory.here(slice.here, slice.lengths, slice.pieces));
      return false;
    }
  }

  /** Copies between a slot and the target's memory of the host; false if that failed, and not for want of that memory. */
  private boolean copyThere(Slice slice, long number, long slot, boolean write) {
    long at = slot;
    boolean good = true;
    for (int i = 0; i < slice.pieces && good; i++) {
      good = hostMover.copy(regions.get(slice.regions[i]), slice.there[i], at, slice.lengths[i], write);
      at += slice.lengths[i];
    }
    good = good && hostMover.copied(write);
    if (good) {
      return true;
    }
    PathFault found = hostMover.fault();
    if (!hostMover.wasMissing()) {
      fault = found;
      return false;
    }
    losses.add(number, MissingMemory.there(slice.there, slice.lengths, slice.regions, slice.pieces, regions, peerPid));
    return true;
  }

  /** As {@link dev.hawser.engine.mapped.Mover#lostBefore}. */
  @Nullable
  Loss lostBefore(long number) {
    return losses.takeBefore(number);
  }

  /** Lets every slice go on as far as it can. */
  private void moveOn() {
    try {
      for (long number = done; number < begun && fault == null; number++) {
        moveOn(slice(number), number);
      }
    } catch (DriverException e) {
      fault = new PathFault(PathFault.Kind.WORK_ERROR, String.valueOf(e.getMessage()));
    }
    while (done < begun && slice(done).stage == Stage.DONE) {
      done++;
    }
  }

  private void moveOn(Slice slice, long number) {
    StagingRing ring = slice.ring;
    PeerSlots peer = slice.peer;
    if (slice.stage == Stage.LEAVING && ring != null && ring.isDone(slice.slot)) {
      long from = ring.address(slice.slot);
      if (peer != null) {
        host.copy(from, SharedSlots.slot(peer.mapping.base(), slice.peerSlot), slice.bytes);
        slice.stage = Stage.READY_TO_GO;
      } else if (!copyThere(slice, number, from, true)) {
        return;
      } else {
        slice.stage = Stage.DONE;
      }
      ring.give(slice.slot);
    }
    if (slice.stage == Stage.READY_TO_GO && peer != null && tell(slice, peer)) {
      slice.stage = Stage.AT_TARGET;
    }
    if (slice.stage == Stage.CAME && peer != null) {
      come(slice, number, ring, peer);
    }
    if (slice.stage == Stage.ENTERING && ring != null && ring.isDone(slice.slot)) {
      ring.give(slice.slot);
      slice.stage = Stage.DONE;
    }
  }

  private void come(Slice slice, long number, @Nullable StagingRing ring, PeerSlots peer) {
    long from = SharedSlots.slot(peer.mapping.base(), slice.peerSlot);
    if (ring == null) {
      boolean _ = copyHere(slice, number, from, false);
      slice.stage = Stage.DONE;
    } else {
      host.copy(from, ring.address(slice.slot), slice.bytes);
      if (!ring.tryBegin(false)) {
        return; // and then once more: nothing may fail between the beginning and the end of a batch
      }
      enter(slice, ring);
    }
    peer.free[peer.freeCount++] = slice.peerSlot;
  }

  /** Asks the target to move a slot; false if there is no room for that now. */
  private boolean tell(Slice slice, PeerSlots peer) {
    if (regions.toTarget().room() == 0) {
      return false;
    }
    for (int i = 0; i < slice.pieces; i++) {
      long at = SharedSlots.entry(peer.mapping.base(), slice.peerSlot, i);
      RawMemory.u64(at, slice.there[i]);
      RawMemory.u64(at + 8, slice.lengths[i]);
      RawMemory.u32(at + 16, slice.regions[i]);
      RawMemory.u32(at + 20, 0);
    }
    command.set(Command.MOVE, slice.peerSlot);
    command.access = slice.write ? WRITE : READ;
    command.address = peer.number;
    command.offset = slice.pieces;
    command.length = slice.bytes;
    sent = true;
    return regions.toTarget().offer(command);
  }

  /** A command of the target's. False if it is none for this, or the path is of no use, see {@link #fault}. */
  boolean commanded(Command said) {
    return switch (said.kind) {
      case Command.SLOTS -> slots(said);
      case Command.MOVED -> moved(said);
      default -> false;
    };
  }

  private boolean slots(Command said) {
    if (said.fileBytes != SharedSlots.BYTES) {
      return false;
    }
    try {
      peerSlots.add(new PeerSlots(said.region, regions.map(said)));
      return true;
    } catch (NativeCallException | IllegalStateException e) {
      fault =
          new PathFault(
              PathFault.Kind.UNREACHABLE,
              "slots of the target cannot be mapped: " + e.getMessage() + "; run both processes as the same user");
      return false;
    }
  }

  private boolean moved(Command said) {
    for (long number = done; number < begun; number++) {
      Slice slice = slice(number);
      PeerSlots peer = slice.peer;
      if (slice.stage == Stage.AT_TARGET && peer != null && peer.number == said.address
          && slice.peerSlot == said.region) {
        if (slice.write) {
          peer.free[peer.freeCount++] = slice.peerSlot;
          slice.stage = Stage.DONE;
        } else {
          slice.stage = Stage.CAME;
        }
        return true;
      }
    }
    return false;
  }

  // ------------------------------------------------------------------------------------------ ending

  long begun() {
    return begun;
  }

  boolean isDone(long number) {
    if (number > done && fault == null) {
      moveOn();
    }
    return number <= done;
  }

  @Nullable
  PathFault fault() {
    PathFault found = fault;
    fault = null;
    return found;
  }

  /** Whether no device here touches anything. What the target still moves, it moves from and to memory of its own. */
  boolean isIdle() {
    return staging.isIdle();
  }

  /** Gives everything back; it is idle. */
  void end() {
    if (!ended && isIdle()) {
      ended = true;
      staging.close();
      for (PeerSlots each : peerSlots) {
        regions.unmap(each.mapping);
      }
      peerSlots.clear();
    }
  }
}
