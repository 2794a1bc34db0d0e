/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.RegionUses;
import dev.hawser.engine.staging.RequestCheck;
import dev.hawser.engine.staging.StagingRing;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The target's half of staging: moves bytes between slots that the initiator's NIC reads and writes, and memory of devices here
 * that ours does not register. It checks every place, as the engine does for all that it serves in software. Owner thread
 * only; allocates nothing in steady state.
 */
final class StagedMoves {
  private static final System.Logger LOG = System.getLogger("dev.hawser.engine.verbs");
  private static final int FIRST_PLACES = 16;
  private static final int MOST_DEVICES = 1 << 16;

  /** What one slot is at. */
  private enum Stage {
    /** It is the initiator's. */
    FREE,
    /** Its places are being told. */
    TOLD,
    /** It is to be moved. */
    ASKED,
    /** The device moves it. */
    MOVING,
    /** The initiator is to be told. */
    MOVED
  }

  private static final class Slot {
    Stage stage = Stage.FREE;
    boolean write;
    int how;
    int places;
    long bytes;
    long[] addresses = new long[FIRST_PLACES];
    long[] lengths = new long[FIRST_PLACES];
    boolean[] onDevice = new boolean[FIRST_PLACES];
    final RegionUses uses = new RegionUses();

    void add(long address, long length, boolean device) {
      if (places == addresses.length) {
        addresses = Arrays.copyOf(addresses, 2 * places);
        lengths = Arrays.copyOf(lengths, 2 * places);
        onDevice = Arrays.copyOf(onDevice, 2 * places);
      }
      addresses[places] = address;
      lengths[places] = length;
      onDevice[places] = device;
      places++;
      bytes += length;
    }
  }

  /** One device's. */
  private static final class Slots {
    final Device device;
    final int number;
    @Nullable
    StagingRing ring; // null: it is being made
    final Slot[] slots = new Slot[StagingRing.SLOTS];

    // Those that are not the initiator's, in the order in which they were asked for.
    final int[] order = new int[StagingRing.SLOTS];
    int count;

    Slots(Device device, int number) {
      this.device = device;
      this.number = number;
      Arrays.setAll(slots, i -> new Slot());
    }
  }

  private final RequestCheck check;
  private final RegisteredRings rings;
  private final PathStaging staging;
  private final Line line;
  private final SlotMessage message = new SlotMessage();
  private final List<Slots> devices = new ArrayList<>();
  private int asked; // devices whose slots the initiator does not know yet
  private int busy; // slots that are not the initiator's

  StagedMoves(MemoryRegistry registry, RegisteredRings rings, PathStaging staging, Line line) {
    this.check = new RequestCheck(registry);
    this.rings = rings;
    this.staging = staging;
    this.line = line;
  }

  /** By which both ends call a device of the target. */
  static int number(Device device) {
    return (device.kind() == DeviceKind.CUDA ? 0 : MOST_DEVICES) | device.ordinal();
  }

  private static Device device(int number) {
    return number < MOST_DEVICES ? Device.cuda(number) : Device.hip(number - MOST_DEVICES);
  }

  /** What the initiator says; not empty: what is wrong with it. */
  String received(ByteBuffer said) {
    if (!SlotMessage.isWellFormed(said)) {
      return "a message of slots that is damaged";
    }
    return switch (SlotMessage.type(said)) {
      case SlotMessage.ASK -> ask(SlotMessage.device(said));
      case SlotMessage.PLACES -> places(said);
      default -> "a message of slots, 0x" + Integer.toHexString(SlotMessage.type(said)) + ", to a target";
    };
  }

  private String ask(int number) {
    if (number < 0 || number >= 2 * MOST_DEVICES || slots(number) != null) {
      return "a wrong question for the slots of device " + number;
    }
    devices.add(new Slots(device(number), number));
    asked++;
    return "";
  }

  private @Nullable Slots slots(int number) {
    for (int i = 0; i < devices.size(); i++) {
      if (devices.get(i).number == number) {
        return devices.get(i);
      }
    }
    return null;
  }

  private String places(ByteBuffer said) {
    Slots slots = slots(SlotMessage.device(said));
    int number = SlotMessage.slot(said);
    if (slots == null || slots.ring == null || number >= StagingRing.SLOTS) {
      return "places for slot " + number + ", which is none of its";
    }
    Slot slot = slots.slots[number];
    boolean write = (SlotMessage.flags(said) & SlotMessage.WRITE) != 0;
    if (slot.stage == Stage.FREE) {
      slot.stage = Stage.TOLD;
      slot.write = write;
      slot.how = SlotMessage.WELL;
      slot.places = 0;
      slot.bytes = 0;
      busy++;
      slots.order[slots.count] = number;
      slots.count++;
    } else if (slot.stage != Stage.TOLD || slot.write != write) {
      return "places for slot " + number + ", which is being moved";
    }
    check.begin();
    for (int i = 0; i < SlotMessage.places(said); i++) {
      long bytes = SlotMessage.placeBytes(said, i);
      if (bytes == 0 || bytes > StagingRing.SLOT_BYTES - slot.bytes) {
        return "more places for slot " + number + " than its " + StagingRing.SLOT_BYTES + " bytes have";
      }
      admit(slots, slot, SlotMessage.placeRegion(said, i), SlotMessage.placeAddress(said, i), bytes);
    }
    if ((SlotMessage.flags(said) & SlotMessage.LAST) != 0) {
      slot.stage = slot.how == SlotMessage.WELL ? Stage.ASKED : Stage.MOVED;
    }
    return "";
  }

  private void admit(Slots slots, Slot slot, int region, long address, long bytes) {
    WorkStatus status = check.admit(region, address, bytes, slot.write, slot.uses);
    Device where = check.deviceOf(region);
    if (status == WorkStatus.SUCCESS && !where.isHost() && !where.equals(slots.device)) {
      status = WorkStatus.REMOTE_ACCESS;
    }
    if (status != WorkStatus.SUCCESS && slot.how == SlotMessage.WELL) {
      slot.how = status == WorkStatus.REMOTE_REGION_CLOSED ? SlotMessage.CLOSED : SlotMessage.REFUSED;
    }
    slot.add(address, bytes, !where.isHost());
  }

  /**
   * Lets devices begin with what was asked for, and tells what they are done with.
   *
   * @return how much was done
   * @throws dev.hawser.memory.DriverException what made a device fail
   */
  int work() {
    int done = 0;
    for (int d = 0; asked > 0 && d < devices.size(); d++) {
      done += devices.get(d).ring == null && answer(devices.get(d)) ? 1 : 0;
    }
    for (int d = 0; busy > 0 && d < devices.size(); d++) {
      done += work(devices.get(d));
    }
    return done;
  }

  private boolean answer(Slots slots) {
    return switch (staging.state(slots.device)) {
      case WAITING -> false;
      case READY -> {
        StagingRing ring = staging.ring(slots.device);
        boolean said = line.say(message.slots(slots.number, ring.address(0), rings.remoteKey(ring)));
        if (said) {
          slots.ring = ring;
          asked--;
        }
        yield said;
      }
      case ABSENT -> {
        String why = staging.whyNot(slots.device);
        boolean said = line.say(message.none(slots.number, why));
        if (said) {
          LOG.log(
              System.Logger.Level.WARNING,
              "memory of {0} is refused to a peer: it would go through pinned host memory, of which there is none: {1}",
              slots.device,
              why);
          devices.remove(slots);
          asked--;
        }
        yield said;
      }
    };
  }

  private int work(Slots slots) {
    StagingRing ring = slots.ring;
    int done = 0;
    int kept = 0;
    for (int i = 0; i < slots.count && ring != null; i++) {
      int number = slots.order[i];
      Slot slot = slots.slots[number];
      if (slot.stage == Stage.ASKED && ring.tryBegin(!slot.write)) {
        move(ring, number, slot);
        slot.stage = Stage.MOVING;
        done++;
      }
      if (slot.stage == Stage.MOVING && ring.isDone(number)) {
        slot.stage = Stage.MOVED;
      }
      if (slot.stage == Stage.MOVED && line.say(message.moved(slots.number, number, slot.how))) {
        slot.uses.releaseAll();
        slot.stage = Stage.FREE;
        busy--;
        done++;
      } else {
        slots.order[kept] = number;
        kept++;
      }
    }
    slots.count = kept;
    return done;
  }

  /** The batch was begun. */
  private static void move(StagingRing ring, int number, Slot slot) {
    long at = ring.address(number);
    for (int i = 0; i < slot.places; i++) {
      long bytes = slot.lengths[i];
      if (slot.onDevice[i]) {
        ring.add(!slot.write, slot.addresses[i], at, bytes);
      } else if (slot.write) {
        RawMemory.copy(at, slot.addresses[i], bytes);
      } else {
        RawMemory.copy(slot.addresses[i], at, bytes);
      }
      at += bytes;
    }
    ring.submit(!slot.write, number);
  }

  /** Whether nothing but a message of the initiator's will give it something to do. */
  boolean isAtRest() {
    if (asked > 0) {
      return false;
    }
    for (int d = 0; busy > 0 && d < devices.size(); d++) {
      Slots slots = devices.get(d);
      for (int i = 0; i < slots.count; i++) {
        if (slots.slots[slots.order[i]].stage != Stage.TOLD) {
          return false;
        }
      }
    }
    return true;
  }

  /** The path is over: nobody waits for an answer, and once its devices are idle nothing here touches memory. */
  boolean letGo() {
    if (!staging.isIdle()) {
      return false;
    }
    for (Slots slots : devices) {
      for (Slot slot : slots.slots) {
        slot.uses.releaseAll();
      }
    }
    devices.clear();
    asked = 0;
    busy = 0;
    return true;
  }
}
