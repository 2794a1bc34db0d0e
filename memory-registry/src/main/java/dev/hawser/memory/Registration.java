/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A range of memory as transports know it: what is bound to NICs, once, however many regions lie in it. Made and ended by
 * a {@link MemoryRegistry}.
 *
 * <p>Thread-safe. {@link #binding} is two array reads: for hot paths.
 */
public final class Registration {
  private static final @Nullable BindingSlot[] NO_SLOTS = {};

  private final long address;
  private final long length;
  private final Device device;
  private final Access access;
  private final long bufferId;
  private final long order;
  private final @Nullable OwnedAllocation allocation;

  private volatile @Nullable BindingSlot[] slots = NO_SLOTS;
  private boolean ending; // guarded by this

  // The registry's, guarded by its lock.
  private final Set<MemorySegment.Scope> heldScopes = new HashSet<>();
  private int regions;
  private boolean leftAllocation;
  private boolean freesAllocation;

  Registration(
      long address,
      long length,
      Device device,
      Access access,
      long bufferId,
      long order,
      @Nullable OwnedAllocation allocation) {
    this.address = address;
    this.length = length;
    this.device = device;
    this.access = access;
    this.bufferId = bufferId;
    this.order = order;
    this.allocation = allocation;
  }

  /** The first byte. */
  public long address() {
    return address;
  }

  /** Length in bytes. */
  public long length() {
    return length;
  }

  /** Where the memory is. */
  public Device device() {
    return device;
  }

  /** The most that any region in it may allow to peers: what a NIC should be asked for. */
  public Access access() {
    return access;
  }

  /** The driver's number of the allocation, never used twice; 0 where there is none. */
  public long bufferId() {
    return bufferId;
  }

  /** The file behind it, if it is host memory that the registry allocated. */
  public Optional<Backing> backing() {
    return allocation instanceof HostAllocation host
        ? Optional.of(host.backing().at(address - host.address()))
        : Optional.empty();
  }

  /** Whether {@code otherLength} bytes at {@code otherAddress} lie in it. */
  public boolean contains(long otherAddress, long otherLength) {
    return Ranges.covers(address, length, otherAddress, otherLength);
  }

  /**
   * What a transport keeps for this registration, for its hot path.
   *
   * @param binderIndex what {@link MemoryRegistry#addBinder} returned
   * @return its local key, or null if it is not bound there
   */
  public @Nullable Object binding(int binderIndex) {
    @Nullable
    BindingSlot[] current = slots;
    if (binderIndex >= current.length) {
      return null;
    }
    BindingSlot slot = current[binderIndex];
    RegionKeys keys = slot == null ? null : slot.keys();
    return keys == null ? null : keys.local();
  }

  /**
   * The bytes that peers need to reach this registration through a transport; not to be changed.
   *
   * @param binderIndex what {@link MemoryRegistry#addBinder} returned
   * @return null if it is not bound there
   */
  @SuppressWarnings("ReturnValueIgnored")
  public byte @Nullable [] remoteKey(int binderIndex) {
    @Nullable
    BindingSlot[] current = slots;
    BindingSlot slot = binderIndex < current.length ? current[binderIndex] : null;
    RegionKeys keys = slot == null ? null : slot.keys();
    return keys == null ? null : keys.remote();
  }

  /** The keys for peers, by transport, of all transports that it is bound to. */
  public List<RemoteKey> remoteKeys() {
    List<RemoteKey> keys = new ArrayList<>();
    for (BindingSlot slot : slots) {
      RegionKeys bound = slot == null ? null : slot.keys();
      byte[] remote = bound == null ? null : bound.remote();
      if (slot != null && remote != null) {
        keys.add(new RemoteKey(slot.binder().transport(), remote));
      }
    }
    return keys;
  }

  /** The transports that could not bind it, or not unbind it, with their reasons. */
  public List<BindFailure> failures() {
    List<BindFailure> failures = new ArrayList<>();
    for (BindingSlot slot : slots) {
      BindFailure failure = slot == null ? null : slot.failure();
      if (failure != null) {
        failures.add(failure);
      }
    }
    return failures;
  }

  @Override
  public String toString() {
    return "registration " + Ranges.hex(address) + "+" + length + " (" + device + ", " + access + ")";
  }

  long order() {
    return order;
  }

  @Nullable
  OwnedAllocation allocation() {
    return allocation;
  }

  /** Whether a region of {@code wantedLength} bytes at {@code wantedAddress} may share this registration. */
  boolean serves(
      long wantedAddress, long wantedLength, Device wantedDevice, Access wantedAccess, long wantedBufferId) {
    return contains(wantedAddress, wantedLength)
        && device.equals(wantedDevice)
        && bufferId == wantedBufferId
        && access.allows(wantedAccess);
  }

  /** Binds it to a transport unless that is done; null if it is bound, or ending. */
  @Nullable
  BindFailure bind(int index, RegionBinder binder) {
    BindingSlot slot = slot(index, binder);
    if (slot == null) {
      return null;
    }
    boolean tried = slot.bind();
    return tried ? slot.failure() : null;
  }

  /** Unbinds it from one transport for good; null if nothing is left. */
  @Nullable
  BindFailure unbind(int index, RegionBinder binder) {
    BindingSlot slot = slot(index, binder);
    return slot == null ? null : slot.unbind();
  }

  /** Unbinds it from all transports for good. */
  List<BindFailure> unbindAll() {
    @Nullable
    BindingSlot[] current;
    synchronized (this) {
      ending = true;
      current = slots;
    }
    List<BindFailure> failures = new ArrayList<>();
    for (BindingSlot slot : current) {
      BindFailure failure = slot == null ? null : slot.unbind();
      if (failure != null) {
        failures.add(failure);
      }
    }
    return failures;
  }

  private synchronized @Nullable BindingSlot slot(int index, RegionBinder binder) {
    @Nullable
    BindingSlot[] current = slots;
    if (index < current.length && current[index] != null) {
      return current[index];
    }
    if (ending) {
      return null;
    }
    @Nullable
    BindingSlot[] grown = Arrays.copyOf(current, Math.max(index + 1, current.length));
    BindingSlot added = new BindingSlot(binder, this);
    grown[index] = added;
    slots = grown;
    return added;
  }

  // Below: the registry's, guarded by its lock.

  void addRegion() {
    regions++;
  }

  /** True if it was the last. */
  boolean removeRegion() {
    regions--;
    return regions == 0;
  }

  /** Remembers that the registry holds {@code scope} for this registration; false if it already did. */
  boolean addHeldScope(MemorySegment.Scope scope) {
    return heldScopes.add(scope);
  }

  Set<MemorySegment.Scope> heldScopes() {
    return heldScopes;
  }

  /** Leaves its allocation, once; true, each time, if it was the last and so has to free it. */
  boolean leaveAllocation() {
    if (allocation != null && !leftAllocation) {
      leftAllocation = true;
      freesAllocation = allocation.removeRegistration();
    }
    return freesAllocation;
  }
}
