/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.testkit;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.PageMappings;
import dev.hawser.memory.ffi.Processes;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What is behind a fake driver: devices whose memory is host memory, in files that other processes open by their handles,
 * streams that hold work back while they wait, and faults to order. Results are the numbers of CUDA.
 *
 * <p>Work is done by the thread that makes a call: what nothing holds back is done when the call returns. Thread-safe.
 */
public final class FakeGpu {
  static final int SUCCESS = 0;
  static final int INVALID_VALUE = 1;
  static final int OUT_OF_MEMORY = 2;
  static final int INVALID_HANDLE = 400;
  static final int NOT_READY = 600;
  static final int ILLEGAL_ADDRESS = 700;
  static final int ALREADY_PINNED = 712;
  static final int NOT_PINNED = 713;

  static final MemorySegment ALL = everything();
  private static final int EVENT_BYTES = 4096;
  private static final int HANDLE_MAGIC = 0x48575246;

  /** How an allocation was made, which decides who may open it. */
  public enum Kind {
    /** By the plain allocator. */
    PLAIN,
    /** Virtual memory that cannot be exported. */
    VIRTUAL,
    /** Virtual memory that can be exported as file descriptors. */
    VIRTUAL_EXPORTABLE,
    /** A stream-ordered pool. */
    POOL,
    /** Managed memory. */
    MANAGED,
    /** Memory of a context that is not the primary one. */
    FOREIGN,
    /** Pinned memory of the host. */
    HOST
  }

  record Allocation(long address, long bytes, int device, Kind kind, long bufferId, int fd) {
    boolean covers(long from, long length) {
      return from >= address && length <= bytes && from - address <= bytes - length;
    }
  }

  /** Work that one stream still holds. */
  static final class Stream {
    final Deque<BooleanSupplier> work = new ArrayDeque<>();
  }

  private final int devices;
  private final long deviceBytes;
  private final TreeMap<Long, Allocation> allocations = new TreeMap<>();
  private final Map<Long, Stream> streams = new HashMap<>();
  private final Map<Long, Long> opened = new HashMap<>(); // memory of others: address, bytes
  private final Map<Long, Integer> events = new HashMap<>(); // address of (recorded, done) counts, file
  private final Map<String, Integer> counts = new HashMap<>();
  private final List<Fault> faults = new ArrayList<>();
  private long nextBufferId = 1;
  private long nextHandle = 0x1000;
  private int lost; // the result of every call once the device is lost
  private boolean held;
  private boolean apart; // no device addresses another's memory
  private boolean background;
  private boolean working;
  private String blocked = "";
  private int waiting;
  private final List<Long> destroyedEvents = new ArrayList<>();

  private static final class Fault {
    final String function;
    final int result;
    int after;

    Fault(String function, int result, int after) {
      this.function = function;
      this.result = result;
      this.after = after;
    }
  }

  /** Devices with so much memory each. */
  public FakeGpu(int devices, long deviceBytes) {
    this.devices = devices;
    this.deviceBytes = deviceBytes;
  }

  @SuppressWarnings("restricted") // the fake's memory is the process's
  private static MemorySegment everything() {
    return MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
  }

  // ------------------------------------------------------------------------------------------------ for tests

  /** How many devices there are. */
  public int devices() {
    return devices;
  }

  /** Bytes of each device. */
  public long deviceBytes() {
    return deviceBytes;
  }

  /** Keeps each device from addressing the memory of others, as on a machine without NVLink and PCIe peer access. */
  public synchronized FakeGpu setApart() {
    apart = true;
    return this;
  }

  synchronized boolean peersReach() {
    return !apart;
  }

  /** Whether an address lies in memory of a device, or in that of another process. */
  synchronized boolean liesOn(long address, int device) {
    Allocation allocation = find(address, 1);
    return allocation == null || allocation.device() == device;
  }

  /** Lets the function fail once, after so many calls that do not. */
  public synchronized void fail(String function, int result, int after) {
    faults.add(new Fault(function, result, after));
  }

  /** Lets every call of the function wait, as those of a driver do while its device hangs, until {@link #unblock}. */
  public synchronized void block(String function) {
    blocked = function;
  }

  /** Lets what waits go on. */
  public synchronized void unblock() {
    blocked = "";
    notifyAll();
  }

  /** Whether a call waits. */
  public synchronized boolean isAnyBlocked() {
    return waiting > 0;
  }

  /** How often a function was called. */
  public synchronized int calls(String function) {
    return counts.getOrDefault(function, 0);
  }

  /** Calls of all functions whose names begin so. */
  public synchronized int callsOf(String prefix) {
    return counts.entrySet().stream().filter(e -> e.getKey().startsWith(prefix)).mapToInt(Map.Entry::getValue).sum();
  }

  /** Allocations that are not freed. */
  public synchronized int allocationCount() {
    return allocations.size();
  }

  /** Memory of other processes that is open. */
  public synchronized int openedCount() {
    return opened.size();
  }

  /** Streams that are not destroyed. */
  public synchronized int streamCount() {
    return streams.size();
  }

  /** Keeps all streams from working, or lets them work again. */
  public synchronized void hold(boolean hold) {
    held = hold;
    pump();
  }

  /** Allocates as the plain allocator does not. */
  public synchronized long allocate(Kind kind, int device, long bytes) {
    return newAllocation(kind, device, bytes);
  }

  // ------------------------------------------------------------------------------------------------ calls

  /** Counts a call; the result that was ordered for it, or that of a lost device, else 0. */
  synchronized int begin(String function) {
    counts.merge(function, 1, Integer::sum);
    waitWhileBlocked(function);
    for (Fault fault : faults) {
      if (fault.function.equals(function) && fault.after-- == 0) {
        faults.remove(fault);
        return fault.result;
      }
    }
    return lost;
  }

  private synchronized void waitWhileBlocked(String function) {
    waiting++;
    try {
      while (blocked.equals(function)) {
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      waiting--;
    }
  }

  // ------------------------------------------------------------------------------------------------ memory

  synchronized long newAllocation(Kind kind, int device, long bytes) {
    int fd = FileDescriptors.memfdCreate("fake-gpu", 0);
    FileDescriptors.truncate(fd, bytes);
    long address =
        PageMappings.map(bytes, PageMappings.PROT_READ | PageMappings.PROT_WRITE, PageMappings.MAP_SHARED, fd, 0);
    allocations.put(address, new Allocation(address, bytes, device, kind, nextBufferId, fd));
    nextBufferId++;
    return address;
  }

  synchronized long used(int device) {
    return allocations.values().stream()
        .filter(a -> a.device() == device && a.kind() != Kind.HOST).mapToLong(Allocation::bytes).sum();
  }

  synchronized int free(long address) {
    Allocation allocation = allocations.get(address);
    if (allocation == null || allocation.fd() < 0) {
      return INVALID_VALUE;
    }
    awaitPiece();
    allocations.remove(address);
    PageMappings.unmap(address, allocation.bytes());
    FileDescriptors.close(allocation.fd());
    return SUCCESS;
  }

  synchronized int pin(long address, long bytes) {
    if (find(address, 1) != null || find(address + bytes - 1, 1) != null) {
      return ALREADY_PINNED;
    }
    allocations.put(address, new Allocation(address, bytes, 0, Kind.HOST, nextBufferId, -1));
    nextBufferId++;
    return SUCCESS;
  }

  synchronized int unpin(long address) {
    Allocation allocation = allocations.get(address);
    if (allocation == null || allocation.fd() >= 0) {
      return NOT_PINNED;
    }
    allocations.remove(address);
    return SUCCESS;
  }

  synchronized @Nullable Allocation find(long address, long bytes) {
    Map.Entry<Long, Allocation> entry = allocations.floorEntry(address);
    return entry != null && entry.getValue().covers(address, bytes) ? entry.getValue() : null;
  }

  /** Whether kernels may touch the bytes. */
  private boolean reachable(long address, long bytes) {
    if (bytes == 0 || find(address, bytes) != null) {
      return true;
    }
    return opened.entrySet().stream()
        .anyMatch(e -> address >= e.getKey() && address - e.getKey() <= e.getValue() - bytes);
  }

  /** For kernels: the device is lost if they may not touch the bytes. */
  synchronized boolean touch(long address, long bytes) {
    if (!reachable(address, bytes)) {
      lost = ILLEGAL_ADDRESS;
      return false;
    }
    return true;
  }

  // ------------------------------------------------------------------------------------------------ other processes

  /** Writes a handle: magic, process, descriptor, bytes. */
  synchronized int export(long address, long handle) {
    Allocation allocation = find(address, 1);
    if (allocation == null || allocation.kind() != Kind.PLAIN) {
      return INVALID_VALUE;
    }
    writeHandle(handle, allocation.fd(), allocation.bytes());
    ALL.set(JAVA_LONG, handle + 32, allocation.device());
    return SUCCESS;
  }

  /** The device whose memory a handle stands for. */
  int home(MemorySegment handle) {
    return (int) handle.get(ValueLayouts.LONG, 32);
  }

  private static void writeHandle(long handle, int fd, long bytes) {
    ALL.asSlice(handle, 64).fill((byte) 0);
    ALL.set(JAVA_LONG, handle, HANDLE_MAGIC);
    ALL.set(JAVA_LONG, handle + 8, Processes.self());
    ALL.set(JAVA_LONG, handle + 16, fd);
    ALL.set(JAVA_LONG, handle + 24, bytes);
  }

  /** Maps what a handle stands for; 0 if it cannot be. Unlike a real driver it opens this process's handles, too. */
  synchronized long open(MemorySegment handle) {
    long bytes = handle.get(ValueLayouts.LONG, 24);
    long address = mapHandle(handle);
    if (address != 0) {
      opened.put(address, bytes);
    }
    return address;
  }

  private static long mapHandle(MemorySegment handle) {
    if (handle.get(ValueLayouts.LONG, 0) != HANDLE_MAGIC) {
      return 0;
    }
    String path = "/proc/" + handle.get(ValueLayouts.LONG, 8) + "/fd/" + handle.get(ValueLayouts.LONG, 16);
    try {
      int fd = FileDescriptors.open(path, FileDescriptors.O_RDWR);
      long address =
          PageMappings.map(
              handle.get(ValueLayouts.LONG, 24),
              PageMappings.PROT_READ | PageMappings.PROT_WRITE,
              PageMappings.MAP_SHARED,
              fd,
              0);
      FileDescriptors.close(fd);
      return address;
    } catch (RuntimeException e) {
      return 0;
    }
  }

  synchronized int close(long address) {
    Long bytes = opened.remove(address);
    if (bytes == null) {
      return INVALID_VALUE;
    }
    awaitPiece();
    PageMappings.unmap(address, bytes);
    return SUCCESS;
  }

  // ------------------------------------------------------------------------------------------------ streams and events

  synchronized long newStream() {
    long handle = nextHandle;
    nextHandle += 16;
    streams.put(handle, new Stream());
    return handle;
  }

  synchronized int destroyStream(long handle) {
    return streams.remove(handle) == null ? INVALID_HANDLE : SUCCESS;
  }

  synchronized int query(long handle) {
    Stream stream = streams.get(handle);
    if (stream == null) {
      return INVALID_HANDLE;
    }
    if (!background) {
      pump();
    }
    return lost != 0 ? lost : stream.work.isEmpty() ? SUCCESS : NOT_READY;
  }

  /** Puts work on a stream: it is tried until it says that it is done. */
  synchronized int enqueue(long handle, BooleanSupplier work) {
    Stream stream = streams.get(handle);
    if (stream == null) {
      return INVALID_HANDLE;
    }
    stream.work.add(work);
    if (background) {
      notifyAll();
    } else {
      pump();
    }
    return lost;
  }

  private void pump() {
    boolean moved = true;
    while (moved) {
      moved = step();
    }
  }

  /** Lets each stream do one piece of work; false if there was none that could be done. */
  private boolean step() {
    boolean moved = false;
    for (Stream stream : streams.values()) {
      BooleanSupplier first = held ? null : stream.work.peek();
      if (first != null && first.getAsBoolean()) {
        stream.work.remove();
        moved = true;
      }
    }
    tidy();
    return moved;
  }

  /** Unmaps events that were destroyed, once no work looks at them any more. */
  private void tidy() {
    if (streams.values().stream().allMatch(stream -> stream.work.isEmpty())) {
      destroyedEvents.forEach(event -> PageMappings.unmap(event, EVENT_BYTES));
      destroyedEvents.clear();
    }
  }

  /** Lets a thread of its own do the work from now on, so that it goes on while others wait, as on a device. */
  public FakeGpu workInBackground() {
    synchronized (this) {
      background = true;
    }
    Thread.ofPlatform().daemon().name("fake-gpu").start(this::workOn);
    return this;
  }

  private void workOn() {
    try {
      while (true) {
        boolean moved = false;
        for (Stream stream : all()) {
          moved |= workOn(stream);
        }
        synchronized (this) {
          if (!moved) {
            tidy();
            wait(1); // what a stream waits for may be written by other processes
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized List<Stream> all() {
    return new ArrayList<>(streams.values());
  }

  /** Does one piece of work, while calls of the driver go on; false if there was none that could be done. */
  private boolean workOn(Stream stream) {
    BooleanSupplier first;
    synchronized (this) {
      first = held ? null : stream.work.peek();
      working = first != null;
    }
    boolean done = first != null && first.getAsBoolean();
    synchronized (this) {
      if (done) {
        stream.work.remove();
      }
      working = false;
      notifyAll();
    }
    return done;
  }

  /** Memory goes only between two pieces of work; a real device would be waited for altogether. */
  private void awaitPiece() {
    try {
      while (working) {
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** An event is two counts: how often it was recorded, and how often that point was reached. */
  synchronized long newEvent() {
    int fd = FileDescriptors.memfdCreate("fake-event", 0);
    FileDescriptors.truncate(fd, 4096);
    long address =
        PageMappings.map(4096, PageMappings.PROT_READ | PageMappings.PROT_WRITE, PageMappings.MAP_SHARED, fd, 0);
    events.put(address, fd);
    return address;
  }

  synchronized int destroyEvent(long event) {
    Integer fd = events.remove(event);
    if (fd == null) {
      return INVALID_HANDLE;
    }
    // Work that still waits for it may look at it: only the name goes now.
    destroyedEvents.add(event);
    if (fd >= 0) {
      FileDescriptors.close(fd);
    }
    return SUCCESS;
  }

  synchronized int exportEvent(long event, long handle) {
    Integer fd = events.get(event);
    if (fd == null || fd < 0) {
      return INVALID_HANDLE;
    }
    writeHandle(handle, fd, 4096);
    return SUCCESS;
  }

  synchronized long openEvent(MemorySegment handle) {
    long address = mapHandle(handle);
    if (address != 0) {
      events.put(address, -1);
    }
    return address;
  }

  synchronized int record(long event, long stream) {
    if (!events.containsKey(event)) {
      return INVALID_HANDLE;
    }
    long generation = ALL.get(JAVA_LONG, event) + 1;
    ALL.set(JAVA_LONG, event, generation);
    return enqueue(
        stream,
        () -> {
          ALL.set(JAVA_LONG, event + 8, generation);
          return true;
        });
  }

  synchronized int queryEvent(long event) {
    if (!events.containsKey(event)) {
      return INVALID_HANDLE;
    }
    if (!background) {
      pump();
    }
    return lost != 0 ? lost : ALL.get(JAVA_LONG, event + 8) >= ALL.get(JAVA_LONG, event) ? SUCCESS : NOT_READY;
  }

  synchronized int waitEvent(long stream, long event) {
    if (!events.containsKey(event)) {
      return INVALID_HANDLE;
    }
    long generation = ALL.get(JAVA_LONG, event);
    return enqueue(stream, () -> ALL.get(JAVA_LONG, event + 8) >= generation);
  }

  synchronized int writeValue(long stream, long address, long value) {
    return enqueue(
        stream,
        () -> {
          ALL.set(JAVA_LONG, address, value);
          return true;
        });
  }

  synchronized int waitValue(long stream, long address, long value) {
    return enqueue(stream, () -> ALL.get(JAVA_LONG, address) - value >= 0);
  }

  /** A copy by the copy engine, which takes host memory that is not pinned, too. */
  synchronized int copy(long from, long to, long bytes, long stream) {
    return enqueue(
        stream,
        () -> {
          MemorySegment.copy(ALL, from, ALL, to, bytes);
          return true;
        });
  }
}
