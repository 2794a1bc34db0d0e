/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import dev.hawser.memory.ffi.PageMappings;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The memory that an agent may move: registers it, allocates it, binds it to transports, finds it, and makes sure that
 * it is not unmapped while it is used.
 *
 * <p><b>Registration cache.</b> A region inside memory that is registered already, with access that this registration
 * allows, shares it: ten thousand regions inside one allocation cost one binding per transport. One-sided hardware
 * enforces the bounds and access of the registration; where those must be the region's own, use
 * {@link Builder#exactRanges}.
 *
 * <p>Thread-safe. {@link #byId} is lock-free, {@link #find} takes no lock and O(log n) time. Transports, listeners and the
 * kernel are called without any lock.
 */
public final class MemoryRegistry implements AutoCloseable {
  /** How long {@link Region#close()} and {@link #close()} wait for uses, unless {@link Builder#closeDeadline} says else. */
  public static final Duration DEFAULT_CLOSE_DEADLINE = Duration.ofSeconds(10);

  private static final System.Logger LOG = System.getLogger("dev.hawser.memory");
  private static final Thread STRANGER = new Thread(() -> {}); // never started: who may use a confined segment? not it

  private final boolean exactRanges;
  private final Duration closeDeadline;
  private final DeviceMemories devices;
  private final HostAllocator allocator = new HostAllocator();
  private final ArenaHolds holds = new ArenaHolds();
  private final List<RegistryListener> listeners = new CopyOnWriteArrayList<>();
  private final RegionTable table = new RegionTable();

  private final ReentrantLock lock = new ReentrantLock();
  private final RegistrationCache cache; // guarded by lock
  private final List<Registration> quarantine = new ArrayList<>(); // guarded by lock
  private RangeIndex<OwnedAllocation> allocations = RangeIndex.empty(); // guarded by lock
  private int nextId = 1; // guarded by lock
  private long nextOrder; // guarded by lock
  private int nextBinder; // guarded by lock

  private volatile RangeIndex<Region> index = RangeIndex.empty(); // written under lock
  private volatile List<Bound> binders = List.of(); // written under lock
  private volatile boolean closed; // written under lock

  private MemoryRegistry(Builder builder) {
    this.exactRanges = builder.exactRanges;
    this.closeDeadline = builder.closeDeadline;
    this.devices = new DeviceMemories(builder.finders);
    this.cache = new RegistrationCache(exactRanges);
  }

  /** A registry with the defaults. */
  public static MemoryRegistry create() {
    return builder().build();
  }

  /** A builder with the defaults: registrations are shared, closing waits for {@link #DEFAULT_CLOSE_DEADLINE}. */
  public static Builder builder() {
    return new Builder();
  }

  /** Builds a {@link MemoryRegistry}. Not thread-safe. */
  public static final class Builder {
    private final Map<DeviceKind, AllocationFinder> finders = new EnumMap<>(DeviceKind.class);
    private boolean exactRanges;
    private Duration closeDeadline = DEFAULT_CLOSE_DEADLINE;

    private Builder() {}

    /**
     * Whether each region gets a registration of its own, with just its bounds and access. Strict, and costs one binding
     * per region and transport.
     */
    public Builder exactRanges(boolean exact) {
      this.exactRanges = exact;
      return this;
    }

    /** How long a close without an argument waits. */
    public Builder closeDeadline(Duration deadline) {
      this.closeDeadline = Objects.requireNonNull(deadline, "deadline");
      return this;
    }

    /**
     * Who knows the allocations of a kind of device, in place of its driver; a {@link DeviceMemory} can also allocate them.
     */
    public Builder allocations(DeviceKind kind, AllocationFinder finder) {
      finders.put(kind, Objects.requireNonNull(finder, "finder"));
      return this;
    }

    /** The registry. */
    public MemoryRegistry build() {
      return new MemoryRegistry(this);
    }
  }

  /** A transport with its index, which is never given to another. */
  private record Bound(int index, RegionBinder binder) {}

  // ------------------------------------------------------------------------------------------------ registering

  /**
   * Registers host memory. Its arena cannot be closed until the region is: see {@link Region} for what is guaranteed.
   *
   * @throws InvalidMemoryException if the segment is empty, on the Java heap, confined to a thread, closed, or read-only
   *     and to be written by peers
   * @throws RegistryClosedException if the registry is closed
   */
  public Region register(MemorySegment segment, Access access) {
    Objects.requireNonNull(access, "access");
    checkSegment(segment, access);
    MemorySegment.Scope scope = segment.scope();
    boolean own = isOwn(segment);
    boolean hold = !own && !ArenaHolds.isEternal(scope);
    if (hold) {
      holds.acquire(segment);
    }
    boolean kept = false;
    try {
      Registration registration =
          obtain(
              Wanted.exactly(segment.address(), segment.byteSize(), Device.HOST, access)
                  .withScope(own, hold ? scope : null));
      kept = true;
      return publish(registration, segment.address(), segment.byteSize(), access, segment);
    } finally {
      if (hold && !kept) {
        holds.release(scope);
      }
    }
  }

  /**
   * Registers memory by address. Who registers it promises to keep it mapped until the region is closed. Where that is
   * broken, transfers that meet what is missing fail, as far as a kernel, a driver or a NIC moves the bytes and can tell.
   * Between the host's memory and memory of a peer that is mapped here (shm) this process itself copies: there it ends by
   * SIGSEGV, as with every access to memory that it has unmapped. The JVM turns SIGBUS, a truncated file, into an error, but
   * not that; and to ask the kernel before each copy takes longer (some 3 µs) than a small copy, and is no promise.
   *
   * @param address its first byte, as this process addresses it
   * @param length bytes, at least 1
   * @param device where it is
   * @throws InvalidMemoryException if that is no range of addresses, nothing is mapped at one of its ends, peers are to
   *     write where this process may not, or the driver of the device says otherwise
   * @throws DeviceAbsentException if there is no driver of that kind of device
   * @throws DriverException if the driver fails
   * @throws RegistryClosedException if the registry is closed
   */
  public Region register(long address, long length, Device device, Access access) {
    Objects.requireNonNull(device, "device");
    Objects.requireNonNull(access, "access");
    checkRange(address, length);
    AllocationFinder finder = devices.finder(device.kind());
    Optional<AllocationFinder.Allocation> allocation = finder == null ? Optional.empty() : finder.find(address);
    if (allocation.isEmpty() && finder instanceof DeviceMemory) {
      throw new InvalidMemoryException(
          "address",
          Ranges.hex(address) + " is no memory of " + device + " that its driver knows: it was freed, or is the host's;"
              + " register memory that is allocated there");
    }
    if (allocation.isEmpty()) {
      MemorySegment readOnly = null;
      if (device.isHost()) {
        ensureOpen();
        checkMapped(address, length);
        readOnly = readOnly(address, length, access);
      }
      return publish(obtain(Wanted.exactly(address, length, device, access)), address, length, access, readOnly);
    }
    AllocationFinder.Allocation whole = allocation.get();
    if (!whole.device().equals(device)) {
      throw new InvalidMemoryException(
          "device", Ranges.hex(address) + " is memory of " + whole.device() + ", not of " + device);
    }
    if (!Ranges.covers(whole.address(), whole.length(), address, length)) {
      throw new InvalidMemoryException(
          "length",
          length + " bytes at " + Ranges.hex(address) + " reach beyond their allocation, which has " + whole.length()
              + " bytes at " + Ranges.hex(whole.address()) + "; register what is left of it, or each allocation");
    }
    Wanted wanted = Wanted.exactly(address, length, device, access).in(whole, exactRanges);
    return publish(obtain(wanted), address, length, access, null);
  }

  /** Registers memory by address, whose device is found out: the one whose driver knows the address, else the host. */
  public Region register(long address, long length, Access access) {
    checkRange(address, length);
    Device device = devices.find(address).map(AllocationFinder.Allocation::device).orElse(Device.HOST);
    return register(address, length, device, access);
  }

  /** Allocates host memory with {@link AllocationOptions#DEFAULT}. */
  public Region allocate(long bytes, Access access) {
    return allocate(bytes, access, AllocationOptions.DEFAULT);
  }

  /**
   * Allocates and registers host memory, filled with zeros, that peers on the same machine can map. It is freed when the
   * last region in it is closed.
   *
   * @param bytes at least 1
   * @throws AllocationException if the machine refuses, or has not that much
   * @throws RegistryClosedException if the registry is closed
   */
  public Region allocate(long bytes, Access access, AllocationOptions options) {
    Objects.requireNonNull(access, "access");
    Objects.requireNonNull(options, "options");
    ensureOpen();
    HostAllocation allocation = allocator.allocate(bytes, options);
    Registration registration = null;
    try {
      registration = adopt(allocation, Device.HOST, access, 0);
    } finally {
      if (registration == null) {
        allocation.free();
      }
    }
    return publish(registration, allocation.address(), allocation.bytes(), access, null);
  }

  /**
   * Allocates and registers memory of a device. It is freed when the last region in it is closed. On the host as {@link
   * #allocate(long, Access)}; on a GPU it is not cleared.
   *
   * @param bytes at least 1
   * @throws DeviceAbsentException if there is no such device
   * @throws DriverException if the driver refuses, for example because the memory is full
   * @throws RegistryClosedException if the registry is closed
   */
  public Region allocate(long bytes, Device device, Access access) {
    Objects.requireNonNull(access, "access");
    if (device.isHost()) {
      return allocate(bytes, access);
    }
    ensureOpen();
    if (bytes < 1) {
      throw new InvalidMemoryException("bytes", bytes + " bytes cannot be allocated; ask for at least 1");
    }
    DeviceMemory memory = devices.memory(device.kind());
    DeviceAllocation allocation = new DeviceAllocation(memory, device, memory.allocate(device, bytes), bytes);
    Registration registration = null;
    try {
      long bufferId = memory.find(allocation.address()).map(AllocationFinder.Allocation::bufferId).orElse(0L);
      registration = adopt(allocation, device, access, bufferId);
    } finally {
      if (registration == null) {
        allocation.free();
      }
    }
    return publish(registration, allocation.address(), bytes, access, null);
  }

  /**
   * What can be done to memory of a device. One for a GPU belongs to the thread that uses it, and is to be closed by it.
   *
   * @throws DeviceAbsentException if there is no such device
   * @throws DriverException if the driver fails
   */
  public DeviceOps newDeviceOps(Device device) {
    return device.isHost() ? HostDeviceOps.INSTANCE : devices.memory(device.kind()).newOps(device);
  }

  /**
   * Why there can be no device of a kind here, as far as that is known without starting its driver; empty if there may be
   * one. Cheap.
   */
  public Optional<String> deviceAbsence(DeviceKind kind) {
    return devices.absence(kind);
  }

  /**
   * The driver of a kind of device, as this registry uses it; started if need be, which takes long.
   *
   * @throws DeviceAbsentException if there is none, with the reason
   */
  public DeviceMemory deviceMemory(DeviceKind kind) {
    return devices.memory(kind);
  }

  // ------------------------------------------------------------------------------------------------ looking up

  /**
   * The region that covers {@code length} bytes at {@code address}, of those that are not closing. Of several, the one
   * that starts last, of those the shortest, of those the newest: the innermost, where they are nested.
   */
  public Optional<Region> find(long address, long length) {
    return Optional.ofNullable(index.find(address, length));
  }

  /** As {@link #find(long, long)}, of the regions that grant {@code access}. */
  public Optional<Region> find(long address, long length, Access access) {
    return Optional.ofNullable(index.find(address, length, region -> region.access().allows(access)));
  }

  /** The region with this id, closing ones included until they are closed; null if there is none. Lock-free. */
  public @Nullable Region byId(int id) {
    return table.get(id);
  }

  /** All regions that are not closing, by address. */
  public List<Region> regions() {
    return index.values();
  }

  // ------------------------------------------------------------------------------------------------ transports

  /**
   * Adds a transport. What is registered already is bound before this returns; what it cannot bind is told to the
   * listeners and listed by {@link Registration#failures}.
   *
   * @return its index, for {@link Registration#binding}
   */
  public int addBinder(RegionBinder binder) {
    Objects.requireNonNull(binder, "binder");
    Bound added;
    List<Registration> existing;
    lock.lock();
    try {
      if (closed) {
        throw new RegistryClosedException();
      }
      added = new Bound(nextBinder, binder);
      nextBinder++;
      List<Bound> more = new ArrayList<>(binders);
      more.add(added);
      binders = List.copyOf(more);
      existing = cache.all();
    } finally {
      lock.unlock();
    }
    for (Registration registration : existing) {
      bind(registration, added);
    }
    announceKeys();
    return added.index();
  }

  /**
   * Removes a transport: everything is unbound from it before this returns, used or not. A transport ends its transfers
   * first.
   *
   * @return what it could not unbind; it is tried again when the memory is released
   */
  public List<BindFailure> removeBinder(RegionBinder binder) {
    List<Bound> removed = new ArrayList<>();
    List<Registration> existing;
    lock.lock();
    try {
      List<Bound> rest = new ArrayList<>();
      for (Bound bound : binders) {
        (bound.binder().equals(binder) ? removed : rest).add(bound);
      }
      binders = List.copyOf(rest);
      existing = cache.all();
    } finally {
      lock.unlock();
    }
    List<BindFailure> failures = new ArrayList<>();
    for (Bound bound : removed) {
      for (Registration registration : existing) {
        BindFailure failure = registration.unbind(bound.index(), bound.binder());
        if (failure != null) {
          failures.add(failure);
        }
      }
    }
    if (!removed.isEmpty()) {
      announceKeys();
    }
    return failures;
  }

  // ------------------------------------------------------------------------------------------------ listeners

  /** Adds a listener, which hears of what happens from now on. */
  public void addListener(RegistryListener listener) {
    listeners.add(Objects.requireNonNull(listener, "listener"));
  }

  /** Removes a listener; a call that is under way may still reach it. */
  public void removeListener(RegistryListener listener) {
    listeners.remove(listener);
  }

  // ------------------------------------------------------------------------------------------------ closing

  /** {@link #close(Duration)} with the default deadline. */
  @Override
  public void close() {
    close(closeDeadline);
  }

  /**
   * Closes every region, and registers nothing more. Can be tried again after it threw. Closing a closed registry does
   * nothing.
   *
   * @param deadline how long to wait, for all regions together
   * @throws RegionInUseException for the first region that is still used at the deadline; others are suppressed exceptions
   * @throws RegistrationException if a transport or a native call does not let memory go: it stays mapped
   */
  public void close(Duration deadline) {
    lock.lock();
    try {
      closed = true;
    } finally {
      lock.unlock();
    }
    long end = System.nanoTime() + Deadlines.nanos(deadline);
    List<Region> all = table.all();
    for (Region region : all) {
      region.stopUses(); // all at once, so that they drain together
    }
    MemoryException first = null;
    for (Region region : all) {
      try {
        region.close(Duration.ofNanos(Math.max(0, end - System.nanoTime())));
      } catch (MemoryException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    List<BindFailure> kept = retryQuarantine();
    if (first != null) {
      throw first;
    }
    if (!kept.isEmpty()) {
      throw new RegistrationException(
          "memory stays mapped because not everyone let go: " + kept + "; end what uses it, then close again");
    }
  }

  /** Whether {@link #close} was called. */
  public boolean isClosed() {
    return closed;
  }

  /** How many registrations there are: what is bound to transports. */
  public int registrationCount() {
    lock.lock();
    try {
      return cache.size();
    } finally {
      lock.unlock();
    }
  }

  // ------------------------------------------------------------------------------------------------ for Region

  Duration closeDeadline() {
    return closeDeadline;
  }

  /** Refuses uses and look-ups of a region, and tells the listeners, once. */
  void startClosing(Region region, Duration deadline) throws InterruptedException {
    region.stopUses();
    lock.lock();
    try {
      index = index.without(region.address(), region.length(), Integer.toUnsignedLong(region.id()));
    } finally {
      lock.unlock();
    }
    ReentrantLock announcing = region.announcing();
    if (!announcing.tryLock(Deadlines.nanos(deadline), TimeUnit.NANOSECONDS)) {
      throw new RegistrationException(
          "listeners are still being told of " + region + "; it stays closing: close it again");
    }
    try {
      if (region.markRemoved()) {
        tell(listener -> listener.removed(region));
      }
    } finally {
      announcing.unlock();
    }
  }

  /** Ends a region that nobody uses. */
  CloseResult finishClosing(Region region) {
    boolean mine;
    boolean last = false;
    lock.lock();
    try {
      mine = region.markFinishing();
      if (mine) {
        table.remove(region.id(), nextId);
        last = cache.removeRegion(region.registration());
      }
    } finally {
      lock.unlock();
    }
    if (!mine) {
      return awaitOther(region);
    }
    try {
      List<BindFailure> failures = last ? end(region.registration()) : List.of();
      CloseResult result = new CloseResult(last, failures);
      region.closed().complete(result);
      return result;
    } catch (RuntimeException | Error e) {
      region.closed().completeExceptionally(e);
      throw e;
    }
  }

  private static CloseResult awaitOther(Region region) {
    try {
      return region.closed().get(BindingSlot.PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RegistrationException("interrupted while another thread closes " + region, e);
    } catch (TimeoutException e) {
      throw new RegistrationException(
          region + " is still being closed by another thread after " + BindingSlot.PATIENCE.toSeconds() + " s", e);
    } catch (ExecutionException e) {
      throw new RegistrationException("another thread failed to close " + region + ": " + e.getCause(), e);
    }
  }

  // ------------------------------------------------------------------------------------------------ registrations

  /**
   * What a region needs of its registration.
   *
   * @param wideAddress where a new registration would begin
   * @param wideLength how long it would be
   * @param own whether it is memory that this registry allocated, so that it must be there
   * @param held the scope that is held for it, if any
   */
  private record Wanted(
      long address,
      long length,
      long wideAddress,
      long wideLength,
      Device device,
      Access access,
      long bufferId,
      boolean own,
      MemorySegment.@Nullable Scope held) {

    static Wanted exactly(long address, long length, Device device, Access access) {
      return new Wanted(address, length, address, length, device, access, 0, false, null);
    }

    Wanted withScope(boolean isOwn, MemorySegment.@Nullable Scope scope) {
      return new Wanted(address, length, wideAddress, wideLength, device, access, bufferId, isOwn, scope);
    }

    Wanted in(AllocationFinder.Allocation whole, boolean exact) {
      return exact
          ? new Wanted(address, length, address, length, device, access, whole.bufferId(), own, held)
          : new Wanted(
              address, length, whole.address(), whole.length(), device, access, whole.bufferId(), own, held);
    }
  }

  /** A registration for a region, which is counted in it already: one that exists, or a new one. */
  private Registration obtain(Wanted wanted) {
    boolean surplus;
    Registration registration;
    lock.lock();
    try {
      if (closed) {
        throw new RegistryClosedException();
      }
      OwnedAllocation allocation = allocations.find(wanted.address(), wanted.length());
      if (wanted.own() && allocation == null) {
        throw new InvalidMemoryException("segment", "the region that it belongs to was closed; allocate another");
      }
      Registration found = cache.find(
          wanted.address(), wanted.length(), wanted.device(), wanted.access(), wanted.bufferId());
      if (found != null) {
        found.addRegion();
        registration = found;
      } else {
        registration =
            create(
                wanted.wideAddress(),
                wanted.wideLength(),
                wanted.device(),
                wanted.access(),
                wanted.bufferId(),
                allocation);
      }
      surplus = wanted.held() != null && !registration.addHeldScope(wanted.held());
    } finally {
      lock.unlock();
    }
    if (surplus) {
      holds.release(Objects.requireNonNull(wanted.held()));
    }
    return registration;
  }

  /** Makes an allocation the registry's own; its registration has one region. */
  private Registration adopt(OwnedAllocation allocation, Device device, Access access, long bufferId) {
    lock.lock();
    try {
      if (closed) {
        throw new RegistryClosedException();
      }
      allocations = allocations.with(allocation.address(), allocation.bytes(), 0, allocation);
      return create(allocation.address(), allocation.bytes(), device, access, bufferId, allocation);
    } finally {
      lock.unlock();
    }
  }

  /** A new registration with one region; under the lock. */
  private Registration create(
      long address, long length, Device device, Access access, long bufferId, @Nullable OwnedAllocation allocation) {
    if (allocation != null) {
      allocation.addRegistration();
    }
    Registration registration =
        new Registration(address, length, device, access, bufferId, nextOrder, allocation);
    nextOrder++;
    registration.addRegion();
    cache.add(registration);
    return registration;
  }

  /** Binds a registration and makes its new region known; gives it up if that cannot be. */
  private Region publish(
      Registration registration, long address, long length, Access access, @Nullable MemorySegment segment) {
    Region region = null;
    try {
      for (Bound bound : binders) {
        bind(registration, bound);
      }
      region = insert(registration, address, length, access, segmentOf(registration, address, length, segment));
    } finally {
      if (region == null) {
        giveUp(registration);
      }
    }
    Region published = region;
    try {
      tell(listener -> listener.added(published));
    } finally {
      published.announcing().unlock();
    }
    return published;
  }

  /** Inserts a region, whose announcing lock this thread then holds. */
  private Region insert(
      Registration registration, long address, long length, Access access, @Nullable MemorySegment segment) {
    lock.lock();
    try {
      if (closed) {
        throw new RegistryClosedException();
      }
      if (nextId == 0) {
        throw new RegistrationException("all 2^32 − 1 region ids were used: make a new registry");
      }
      Region region = new Region(this, nextId, registration, address, length, access, segment);
      nextId++;
      region.announcing().lock();
      table.put(region.id(), region);
      index = index.with(address, length, Integer.toUnsignedLong(region.id()), region);
      return region;
    } finally {
      lock.unlock();
    }
  }

  private void giveUp(Registration registration) {
    boolean last;
    lock.lock();
    try {
      last = cache.removeRegion(registration);
    } finally {
      lock.unlock();
    }
    if (last) {
      end(registration);
    }
  }

  /** Unbinds a registration that no region needs, and lets its memory go, or quarantines it. */
  private List<BindFailure> end(Registration registration) {
    List<BindFailure> failures = letGo(registration);
    if (!failures.isEmpty()) {
      LOG.log(
          System.Logger.Level.WARNING, "{0} stays mapped, as not everyone let go: {1}", registration, failures);
      lock.lock();
      try {
        quarantine.add(registration);
      } finally {
        lock.unlock();
      }
    }
    return failures;
  }

  private List<BindFailure> letGo(Registration registration) {
    List<BindFailure> failures = registration.unbindAll();
    if (!failures.isEmpty()) {
      return failures;
    }
    OwnedAllocation allocation = registration.allocation();
    if (allocation != null && leaveAllocation(registration)) {
      try {
        allocation.free();
      } catch (IllegalStateException e) {
        return List.of(
            new BindFailure(
                "host",
                registration.address(),
                registration.length(),
                "a native call still uses a segment of it (" + e.getMessage() + ")",
                e));
      } catch (DriverException e) {
        return List.of(
            new BindFailure(
                registration.device().kind().word(),
                registration.address(),
                registration.length(),
                "its driver does not free it: " + e.getMessage(),
                e));
      }
    }
    for (MemorySegment.Scope scope : registration.heldScopes()) {
      holds.release(scope);
    }
    return List.of();
  }

  private List<BindFailure> retryQuarantine() {
    List<Registration> kept;
    lock.lock();
    try {
      kept = new ArrayList<>(quarantine);
      quarantine.clear();
    } finally {
      lock.unlock();
    }
    List<BindFailure> failures = new ArrayList<>();
    for (Registration registration : kept) {
      failures.addAll(end(registration));
    }
    return failures;
  }

  private void bind(Registration registration, Bound bound) {
    BindFailure failure = registration.bind(bound.index(), bound.binder());
    if (failure != null) {
      LOG.log(System.Logger.Level.WARNING, "{0}", failure);
      tell(listener -> listener.bindFailed(registration, failure));
    }
  }

  private void announceKeys() {
    for (Region region : regions()) {
      tell(listener -> listener.keysChanged(region));
    }
  }

  private void tell(Consumer<RegistryListener> message) {
    for (RegistryListener listener : listeners) {
      try {
        message.accept(listener);
      } catch (RuntimeException e) {
        LOG.log(System.Logger.Level.WARNING, "a registry listener failed: " + listener, e);
      }
    }
  }

  // ------------------------------------------------------------------------------------------------ checks

  private void ensureOpen() {
    if (closed) {
      throw new RegistryClosedException();
    }
  }

  private static void checkRange(long address, long length) {
    if (length < 1) {
      throw new InvalidMemoryException("length", length + " bytes cannot be registered; register at least 1");
    }
    if (address == 0) {
      throw new InvalidMemoryException("address", "null cannot be registered");
    }
    Ranges.check("address", address, "length", length);
  }

  /** Both ends: a hole in between is told by the transfer that meets it. */
  private static void checkMapped(long address, long length) {
    boolean begins = PageMappings.isMapped(address);
    if (begins && PageMappings.isMapped(address + length - 1)) {
      return;
    }
    throw new InvalidMemoryException(
        begins ? "length" : "address",
        length + " bytes at " + Ranges.hex(address) + ": no memory is mapped at "
            + (begins ? "their end; give the length in bytes of what was allocated"
                : "that address; register memory while"
                    + " it is allocated, by the address that this process has it at"));
  }

  /** The range, if its pages are for reading only, which is looked at at both ends; else null. */
  private static @Nullable MemorySegment readOnly(long address, long length, Access access) {
    if (!PageMappings.isReadOnly(address) && !PageMappings.isReadOnly(address + length - 1)) {
      return null;
    }
    if (access.remoteWritable()) {
      throw new InvalidMemoryException("access", access + " is asked for " + length + " bytes at " + Ranges.hex(address)
          + ", which are mapped for reading only; use remote-read or local, or map them for writing, too");
    }
    return HostMemory.segment(address, length).asReadOnly();
  }

  private static void checkSegment(MemorySegment segment, Access access) {
    if (!segment.isNative()) {
      throw new InvalidMemoryException(
          "segment", "it is on the Java heap, where the collector moves it; use Arena.ofShared() or allocate()");
    }
    if (!segment.scope().isAlive()) {
      throw new InvalidMemoryException("segment", "its arena is closed; register memory whose arena is open");
    }
    if (!segment.isAccessibleBy(STRANGER)) {
      throw new InvalidMemoryException(
          "segment",
          "its arena is confined to one thread, and transfers run on others; use Arena.ofShared() or allocate()");
    }
    if (segment.isReadOnly() && access.remoteWritable()) {
      throw new InvalidMemoryException("access",
          access + " is asked for a read-only segment; use remote-read or local");
    }
    checkRange(segment.address(), segment.byteSize());
  }

  /** Whether a segment is of an arena of this registry's own, which closes after its last region. */
  private boolean isOwn(MemorySegment segment) {
    OwnedAllocation allocation;
    lock.lock();
    try {
      allocation = allocations.find(segment.address(), segment.byteSize());
    } finally {
      lock.unlock();
    }
    return allocation instanceof HostAllocation host && host.segment().scope().equals(segment.scope());
  }

  /** Whether a registration was the last of its allocation; nobody finds the allocation again then. */
  private boolean leaveAllocation(Registration registration) {
    lock.lock();
    try {
      OwnedAllocation allocation = registration.allocation();
      if (allocation == null || !registration.leaveAllocation()) {
        return false;
      }
      allocations = allocations.without(allocation.address(), allocation.bytes(), 0);
      return true;
    } finally {
      lock.unlock();
    }
  }

  private static @Nullable MemorySegment segmentOf(
      Registration registration, long address, long length, @Nullable MemorySegment given) {
    if (given != null) {
      return given;
    }
    return registration.allocation() instanceof HostAllocation own
        ? own.segment().asSlice(address - own.address(), length)
        : null;
  }
}
