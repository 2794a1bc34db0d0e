/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.staging;

import dev.hawser.memory.CopyDirection;
import dev.hawser.memory.DriverException;
import dev.hawser.memory.gpu.DriverGate;
import dev.hawser.memory.gpu.Gpu;
import dev.hawser.memory.gpu.GpuDeviceOps;
import dev.hawser.memory.gpu.GpuProgress;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Slots of pinned host memory in front of one device, with a stream for each direction. A slot is taken, filled by the device
 * or by the network, emptied by the other, and given back; who finds none waits, and so holds back whoever sends. For one
 * thread at a time; nothing of it blocks or allocates.
 */
public final class StagingRing {
  /** Bytes of a slot. */
  public static final int SLOT_BYTES = 1 << 20;

  /** How many there are: enough for the device, the network, and what is in between. */
  public static final int SLOTS = 16;

  private static final int FIRST_PLACES = 16;

  private final Gpu gpu;
  private final DriverGate gate;
  private final GpuDeviceOps toHost;
  private final GpuDeviceOps toDevice;
  private final GpuProgress toHostProgress;
  private final GpuProgress toDeviceProgress;
  private final long memory;
  private final @Nullable SharedSlots shared;
  private final @Nullable GpuProgress[] awaited = new @Nullable GpuProgress[SLOTS]; // null: no device is at it
  private final long[] marks = new long[SLOTS];
  private final @Nullable DriverException[] failures = new @Nullable DriverException[SLOTS];
  private final long[][] places = new long[SLOTS][2 * FIRST_PLACES]; // address and bytes of each, by slot
  private final int[] free = new int[SLOTS];
  private int freeCount;
  private @Nullable DriverException broken; // what kept the batch from the device
  private boolean lost;

  /**
   * A ring.
   *
   * @param shared its memory, pinned; null: memory that only this process has
   */
  StagingRing(Gpu gpu, @Nullable SharedSlots shared) {
    this.gpu = gpu;
    this.gate = gpu.gate();
    this.toHost = GpuDeviceOps.on(gpu);
    this.toDevice = GpuDeviceOps.on(gpu);
    this.toHostProgress = new GpuProgress(toHost.stream(), SLOTS);
    this.toDeviceProgress = new GpuProgress(toDevice.stream(), SLOTS);
    this.shared = shared;
    this.memory = shared == null ? gpu.allocateHost((long) SLOTS * SLOT_BYTES).address() : shared.address();
    reset();
  }

  Gpu gpu() {
    return gpu;
  }

  /** Takes a slot; −1 if all are in use. */
  public int take() {
    return freeCount == 0 ? -1 : free[--freeCount];
  }

  /** The memory of its slots that other processes can map. */
  public SharedSlots shared() {
    return Objects.requireNonNull(shared, "a ring of this process alone");
  }

  /** How many can be taken. */
  public int free() {
    return freeCount;
  }

  /** Gives a slot back: neither the device nor the network is at it. */
  public void give(int slot) {
    free[freeCount++] = slot;
  }

  /** Where a slot begins. */
  public long address(int slot) {
    return memory + (long) slot * SLOT_BYTES;
  }

  /** Keeps one of the places on the device that a slot's bytes belong to, in their order, for {@link #movePlaces}. */
  public void place(int slot, int index, long address, long bytes) {
    long[] known = places[slot];
    if (known.length == 2 * index) {
      known = Arrays.copyOf(known, 4 * index);
      places[slot] = known;
    }
    known[2 * index] = address;
    known[2 * index + 1] = bytes;
  }

  /** Lets the device move a slot's bytes from or to its places; the batch {@linkplain #tryBegin was begun}. */
  public void movePlaces(boolean out, int slot, int count) {
    long host = address(slot);
    long[] known = places[slot];
    for (int i = 0; i < count; i++) {
      add(out, known[2 * i], host, known[2 * i + 1]);
      host += known[2 * i + 1];
    }
    submit(out, slot);
  }

  /**
   * Begins a batch of copies, followed by {@link #submit}. What a driver refuses of it is told by {@link #isDone}.
   *
   * @param out whether from the device to the host
   * @return false if it cannot be now: there is no room for its tables, or the driver lets no call through
   */
  public boolean tryBegin(boolean out) {
    GpuDeviceOps ops = out ? toHost : toDevice;
    if (!gate.tryPass()) {
      return false;
    }
    boolean begun = false;
    broken = null;
    try {
      if (ops.hasRoom()) {
        ops.begin(out ? CopyDirection.LOCAL_TO_REMOTE : CopyDirection.REMOTE_TO_LOCAL, true);
        begun = true;
      }
      return begun;
    } catch (DriverException e) {
      broken = e;
      begun = true;
      return true;
    } finally {
      if (!begun) {
        gate.passed();
      }
    }
  }

  /** Adds a piece of the batch: memory of the device, and its place in a slot. */
  public void add(boolean out, long device, long host, long bytes) {
    if (broken != null) {
      return;
    }
    try {
      (out ? toHost : toDevice).add(device, host, bytes);
    } catch (DriverException e) {
      broken = e;
    }
  }

  /** Lets the device begin; {@link #isDone} tells when the slot is through. */
  public void submit(boolean out, int slot) {
    try {
      GpuProgress progress = out ? toHostProgress : toDeviceProgress;
      awaited[slot] = progress;
      if (broken == null) {
        var _ = (out ? toHost : toDevice).submit();
        marks[slot] = progress.mark();
      }
    } catch (DriverException e) {
      broken = e;
    } finally {
      failures[slot] = broken;
      gate.passed();
    }
  }

  /**
   * Whether the device is done with a slot.
   *
   * @throws DriverException what made it fail
   */
  public boolean isDone(int slot) {
    GpuProgress progress = awaited[slot];
    if (progress == null) {
      return true;
    }
    DriverException failure = failures[slot];
    if (failure != null) {
      throw failure;
    }
    if (!progress.isDone(marks[slot])) {
      return false;
    }
    awaited[slot] = null;
    return true;
  }

  /** Whether the device touches nothing any more, here or at its own memory; one that is lost does not. */
  public boolean isIdle() {
    if (lost) {
      return true;
    }
    if (!gate.tryPass()) {
      return false;
    }
    try {
      return toHost.isIdle() && toDevice.isIdle();
    } catch (DriverException e) {
      lost = e.sticky();
      return lost;
    } finally {
      gate.passed();
    }
  }

  /** Makes it as it was in the beginning; it is {@linkplain #isIdle idle}. False if its device is lost. */
  final boolean reset() {
    freeCount = SLOTS;
    for (int i = 0; i < SLOTS; i++) {
      free[i] = i;
      awaited[i] = null;
      failures[i] = null;
    }
    return !lost;
  }

  @Override
  public String toString() {
    return SLOTS + " slots of " + SLOT_BYTES + " bytes before " + gpu;
  }
}
