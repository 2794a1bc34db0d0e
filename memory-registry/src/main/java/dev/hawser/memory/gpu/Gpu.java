/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

import dev.hawser.memory.Device;
import dev.hawser.memory.InvalidMemoryException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One device. Every method may be called on any thread, and leaves the device that is current on it as it was.
 * Thread-safe.
 */
public final class Gpu {
  private final GpuDriver driver;
  private final int ordinal;
  private final DriverGate gate;
  private final AdoptedMemories adopted;

  private final TableMemory tables = new TableMemory(this);

  private volatile @Nullable GpuProperties properties;
  private @Nullable GpuKernels kernels; // guarded by this

  Gpu(GpuDriver driver, int ordinal, DriverGate gate, AdoptedMemories adopted) {
    this.driver = driver;
    this.ordinal = ordinal;
    this.gate = gate;
    this.adopted = adopted;
  }

  /** What threads pass that must not block in the driver. */
  public DriverGate gate() {
    return gate;
  }

  /** Makes a call that holds up all others, with this device current. */
  void runAlone(Consumer<GpuDriver> call) {
    gate.hold(() -> run(call));
  }

  /** Its driver. */
  public GpuDriver driver() {
    return driver;
  }

  /** Its number in this process. */
  public int ordinal() {
    return ordinal;
  }

  /** The device as regions and blocks name it. */
  public Device device() {
    return new Device(driver.kind(), ordinal);
  }

  /** What is known of it. */
  public GpuProperties properties() {
    GpuProperties known = properties;
    if (known == null) {
      known = driver.properties(ordinal);
      properties = known;
    }
    return known;
  }

  /** Makes it current on this thread; give the result to {@link #leave}. For hot paths; else {@link #run}. */
  public long enter() {
    return driver.enter(ordinal);
  }

  /** Makes current what was before {@link #enter}. */
  public void leave(long before) {
    driver.leave(before);
  }

  /** Makes it current on this thread for good, which makes later calls cheaper: for threads that are Hawser's own. */
  public void adoptThread() {
    driver.enter(ordinal);
  }

  /** Does something with this device current. */
  public void run(Consumer<GpuDriver> action) {
    long before = enter();
    try {
      action.accept(driver);
    } finally {
      leave(before);
    }
  }

  /** Asks something with this device current. */
  public <T> T call(Function<GpuDriver, T> question) {
    long before = enter();
    try {
      return question.apply(driver);
    } finally {
      leave(before);
    }
  }

  /** A stream of its own, which waits for no other. */
  public GpuStream newStream() {
    return new GpuStream(this, call(GpuDriver::createStream), true);
  }

  /** A stream of the user's, by the driver's handle; closing it here does nothing. */
  public GpuStream stream(long handle) {
    return new GpuStream(this, handle, false);
  }

  /** An event, without timing. */
  public GpuEvent newEvent() {
    return new GpuEvent(this, call(d -> d.createEvent(false, false)));
  }

  /** An event that takes the time. */
  public GpuEvent newTimingEvent() {
    return new GpuEvent(this, call(d -> d.createEvent(true, false)));
  }

  /** An event that other processes can open by its {@link GpuEvent#export}. */
  public GpuEvent newInterprocessEvent() {
    return new GpuEvent(this, call(d -> d.createEvent(false, true)));
  }

  /** Opens another process's event. */
  public GpuEvent openEvent(IpcHandle handle) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocateFrom(ValueLayout.JAVA_BYTE, handle.bytes());
      return new GpuEvent(this, call(d -> d.openEvent(bytes.address())));
    }
  }

  /** Allocates memory of the device, not cleared. */
  public GpuBuffer allocate(long bytes) {
    return new GpuBuffer(this, call(d -> d.allocate(bytes)), bytes, false);
  }

  /** Allocates pinned memory of the host. */
  public GpuBuffer allocateHost(long bytes) {
    return new GpuBuffer(this, call(d -> d.allocateHost(bytes)), bytes, true);
  }

  /** Pins host memory that is allocated already: whole pages, or the driver may refuse. */
  public HostPin pin(long address, long bytes) {
    runAlone(d -> d.pinHost(address, bytes));
    return new HostPin(this, address);
  }

  /**
   * What another process needs to reach an address of this device's memory, {@linkplain #adopt adopted} memory included.
   *
   * @throws dev.hawser.memory.InvalidMemoryException if it is no memory of this device, or its allocator did not make it
   *     for that; the message names the setting to change
   */
  public IpcExport export(long address) {
    AdoptedMemory another = adopted.find(address);
    if (another != null && another.device().equals(device())) {
      return another.export(address);
    }
    PointerInfo info = driver.pointer(address);
    GpuMemory.requireDevice(info, address, device());
    GpuMemory.requireIpc(info, address, driver.kind());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocate(IpcHandle.BYTES, Long.BYTES);
      run(d -> d.exportMemory(address, bytes.address()));
      return new IpcExport(
          new IpcHandle(bytes.toArray(ValueLayout.JAVA_BYTE)), address - info.address(), info.length(),
          info.bufferId());
    }
  }

  /**
   * Opens another process's allocation, of this device or of a peer that it can address. Takes milliseconds; open each
   * once.
   */
  public IpcMemory open(IpcHandle handle) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = arena.allocateFrom(ValueLayout.JAVA_BYTE, handle.bytes());
      return new IpcMemory(this, call(d -> d.openMemory(bytes.address())));
    }
  }

  /**
   * Opens another process's allocation of this device, to be registered here as if it were this process's own.
   *
   * @param handle its owner's, of the whole allocation
   * @param bytes of the allocation
   * @throws dev.hawser.memory.DriverException if the driver refuses
   * @throws InvalidMemoryException if it has not so many bytes
   */
  public AdoptedMemory adopt(IpcHandle handle, long bytes) {
    IpcMemory opened = open(handle);
    boolean kept = false;
    try {
      PointerInfo found = driver.pointer(opened.address());
      if (found.memory() == PointerInfo.Memory.DEVICE && !found.covers(opened.address(), bytes)) {
        throw new InvalidMemoryException("length",
            "the allocation of the other process has " + found.length() + " bytes, not " + bytes
                + "; give its own length");
      }
      AdoptedMemory memory = new AdoptedMemory(adopted, opened, handle, device(), bytes, adopted.nextId());
      adopted.add(memory);
      kept = true;
      return memory;
    } finally {
      if (!kept) {
        opened.close();
      }
    }
  }

  /** A dma-buf for a range of this device's memory, for a NIC. */
  public DmaBuf exportDmaBuf(long address, long bytes) {
    return call(d -> d.exportDmaBuf(address, bytes));
  }

  /** Lets this device address the memory of another one directly; false if the machine cannot. */
  public boolean reach(Gpu peer) {
    return reach(peer.ordinal);
  }

  /** As {@link #reach(Gpu)}, by the number of the other one. */
  boolean reach(int peer) {
    if (peer == ordinal) {
      return true;
    }
    if (!driver.canAccessPeer(ordinal, peer)) {
      return false;
    }
    run(d -> d.enablePeer(ordinal, peer));
    return true;
  }

  /** Memory for tables that are kept. */
  TableMemory tables() {
    return tables;
  }

  /** Whether batches could be kept that were not, for want of memory for their tables: see {@link #growTables}. */
  public boolean isShortOfTables() {
    return tables.isShort();
  }

  /** Allocates memory for more tables, which stays allocated. Takes time. */
  public void growTables() {
    tables.grow();
  }

  /** The kernels, loaded on the first call. */
  synchronized GpuKernels kernels() {
    GpuKernels loaded = kernels;
    if (loaded == null) {
      loaded = call(d -> GpuKernels.load(d, ordinal));
      kernels = loaded;
    }
    return loaded;
  }

  @Override
  public String toString() {
    return device().toString();
  }
}
