/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.mapped.Command;
import dev.hawser.engine.mapped.CommandRing;
import dev.hawser.engine.mapped.LentRegions;
import dev.hawser.engine.mapped.TargetMover;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.SharedSlots;
import dev.hawser.engine.staging.Staging;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.memory.Device;
import dev.hawser.memory.Region;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Moves bytes between slots that the initiator has mapped and memory of devices here. It checks every place: the initiator
 * names it, and a wrong one would end the device for this process. Owner thread only; allocates nothing in steady state.
 */
final class StagedTarget implements TargetMover {
  private static final System.Logger LOG = System.getLogger("dev.hawser.shm");
  private static final int WRITE = 2;

  /** What one slot is at. */
  private enum Stage {
    FREE, ASKED, MOVING
  }

  /** One device's slots. */
  private static final class Slots {
    final Device device;
    final StagingRing ring;
    final Stage[] stages = new Stage[StagingRing.SLOTS];
    final boolean[] writes = new boolean[StagingRing.SLOTS];
    final int[] entries = new int[StagingRing.SLOTS];

    // Those that are not free, in the order in which they were asked for.
    final int[] order = new int[StagingRing.SLOTS];
    int count;

    Slots(Device device, StagingRing ring) {
      this.device = device;
      this.ring = ring;
      Arrays.fill(stages, Stage.FREE);
    }
  }

  private final PathStaging staging;
  private final List<Slots> devices = new ArrayList<>();
  private final Command command = new Command();

  StagedTarget(Staging staging) {
    this.staging = new PathStaging(staging);
  }

  @Override
  public boolean isReady(Region region, CommandRing toInitiator) {
    Device device = region.device();
    if (device.isHost() || slots(LentRegions.number(device)) != null) {
      return true;
    }
    return switch (staging.state(device)) {
      case WAITING -> false;
      case ABSENT -> {
        LOG.log(
            System.Logger.Level.WARNING,
            "{0} is refused to a peer: it would go through pinned host memory, of which there is none: {1}",
            region,
            staging.whyNot(device));
        yield true;
      }
      case READY -> {
        Slots slots = new Slots(device, staging.ring(device));
        devices.add(slots);
        tell(slots.ring.shared(), device, toInitiator);
        yield true;
      }
    };
  }

  private void tell(SharedSlots shared, Device device, CommandRing toInitiator) {
    command.set(Command.SLOTS, LentRegions.number(device));
    command.fd = shared.fd();
    command.fileBytes = SharedSlots.BYTES;
    command.device = shared.file().device();
    command.inode = shared.file().inode();
    if (!toInitiator.offer(command)) {
      throw new IllegalStateException("there is no room to tell the initiator of the slots for " + device);
    }
  }

  private @Nullable Slots slots(long number) {
    for (int i = 0; i < devices.size(); i++) {
      Slots each = devices.get(i);
      if (LentRegions.number(each.device) == number) {
        return each;
      }
    }
    return null;
  }

  @Override
  public boolean canMove(Region region) {
    return region.device().isHost() || slots(LentRegions.number(region.device())) != null;
  }

  @Override
  public String move(Command asked, LentRegions lent) {
    Slots slots = slots(asked.address);
    int slot = asked.region;
    if (slots == null || slot < 0 || slot >= StagingRing.SLOTS || slots.stages[slot] != Stage.FREE) {
      return "the initiator wants slot " + slot + " moved, which is none of its";
    }
    boolean write = asked.access == WRITE;
    String wrong = check(slots, slot, write, asked.offset, asked.length, lent);
    if (!wrong.isEmpty()) {
      return wrong;
    }
    slots.stages[slot] = Stage.ASKED;
    slots.writes[slot] = write;
    slots.entries[slot] = (int) asked.offset;
    slots.order[slots.count] = slot;
    slots.count++;
    return "";
  }

  /** What is wrong with a request; empty if nothing is. What it checks is read once, and kept where only this process writes. */
  private String check(Slots slots, int slot, boolean write, long entries, long length, LentRegions lent) {
    if (entries < 1 || entries > SharedSlots.ENTRIES || length < 1 || length > StagingRing.SLOT_BYTES) {
      return "the initiator wants " + entries + " pieces of " + length + " bytes moved in one go";
    }
    long left = length;
    for (int i = 0; i < entries; i++) {
      long at = SharedSlots.entry(slots.ring.address(0), slot, i);
      long address = RawMemory.u64(at);
      long bytes = RawMemory.u64(at + 8);
      Region region = lent.get(RawMemory.u32(at + 16));
      boolean permitted =
          region != null
              && region.device().equals(slots.device)
              && (region.access().mask() & (write ? WRITE : 1)) != 0
              && bytes > 0
              && bytes <= left
              && address >= region.address()
              && address - region.address() <= region.length() - bytes;
      if (!permitted) {
        return "the initiator wants " + bytes + " bytes at 0x" + Long.toHexString(address)
            + " moved, which it was not lent";
      }
      left -= bytes;
      slots.ring.place(slot, i, address, bytes);
    }
    return left == 0 ? "" : "the initiator's pieces are " + left + " bytes less than it says";
  }

  @Override
  public int work(CommandRing toInitiator, boolean over) {
    int done = 0;
    for (int d = 0; d < devices.size(); d++) {
      Slots slots = devices.get(d);
      if (over) {
        slots.count = 0; // nobody waits for an answer; that its device is idle is asked before anything is given back
      }
      int kept = 0;
      for (int i = 0; i < slots.count; i++) {
        int slot = slots.order[i];
        if (slots.stages[slot] == Stage.ASKED && slots.ring.tryBegin(!slots.writes[slot])) {
          slots.ring.movePlaces(!slots.writes[slot], slot, slots.entries[slot]);
          slots.stages[slot] = Stage.MOVING;
          done++;
        }
        boolean ended =
            slots.stages[slot] == Stage.MOVING
                && slots.ring.isDone(slot)
                && toInitiator.offer(moved(slots, slot));
        if (ended) {
          slots.stages[slot] = Stage.FREE;
          done++;
        } else {
          slots.order[kept] = slot;
          kept++;
        }
      }
      slots.count = kept;
    }
    return done;
  }

  private Command moved(Slots slots, int slot) {
    command.set(Command.MOVED, slot);
    command.address = LentRegions.number(slots.device);
    return command;
  }

  @Override
  public boolean hasWork() {
    for (int d = 0; d < devices.size(); d++) {
      if (devices.get(d).count > 0) {
        return true;
      }
    }
    return false;
  }

  @Override
  public boolean isIdle() {
    return staging.isIdle();
  }

  @Override
  public void end() {
    devices.clear();
    staging.close();
  }
}
