/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory: exact bounds, what peers may do with it, and a count of who uses it. Several regions may lie in one
 * {@link Registration}, and may overlap.
 *
 * <p><b>What is guaranteed.</b> While a use is held ({@link #tryRetain} returned true and {@link #release} was not yet
 * called) the memory is mapped:
 *
 * <ul>
 *   <li>if the registry allocated it: always, and after the close every {@link #segment} of it throws instead of touching
 *       unmapped memory;
 *   <li>if it was registered as a {@link MemorySegment}: the registry keeps its arena from being closed as long as the
 *       registration lives, not only during transfers, for a NIC may write at any time: {@code Arena.close()} throws
 *       {@code IllegalStateException} until all regions in the arena are closed. A segment of an automatic arena, or of a
 *       direct buffer, is kept reachable;
 *   <li>if it was registered by address: as long as its owner keeps it mapped, which is the caller's promise.
 * </ul>
 *
 * <p>Thread-safe. Retain and release are lock-free and allocate nothing.
 */
public final class Region implements AutoCloseable {
  private final MemoryRegistry registry;
  private final int id;
  private final Registration registration;
  private final long address;
  private final long length;
  private final Access access;
  private final @Nullable MemorySegment segment;

  private final Uses uses = new Uses();
  private final ReentrantLock announcing = new ReentrantLock();
  private final CompletableFuture<CloseResult> closed = new CompletableFuture<>();

  private boolean removed; // guarded by announcing
  private boolean finishing; // guarded by the registry's lock

  Region(
      MemoryRegistry registry,
      int id,
      Registration registration,
      long address,
      long length,
      Access access,
      @Nullable MemorySegment segment) {
    this.registry = registry;
    this.id = id;
    this.registration = registration;
    this.address = address;
    this.length = length;
    this.access = access;
    this.segment = segment;
  }

  /** Its number in its registry: unsigned, never 0, never given to another region. */
  public int id() {
    return id;
  }

  /** The first byte. */
  public long address() {
    return address;
  }

  /** Length in bytes, at least 1. */
  public long length() {
    return length;
  }

  /** Where the memory is. */
  public Device device() {
    return registration.device();
  }

  /** What peers may do with it. */
  public Access access() {
    return access;
  }

  /** Whether the owner may write to it: false for a read-only segment. */
  public boolean writable() {
    return segment == null || !segment.isReadOnly();
  }

  /** Whether the registry allocated the memory: then it stays mapped as long as the region is used. */
  public boolean isAllocated() {
    return registration.allocation() != null;
  }

  /** What transports bound. */
  public Registration registration() {
    return registration;
  }

  /** What a transport keeps for it: {@link Registration#binding}. */
  public @Nullable Object binding(int binderIndex) {
    return registration.binding(binderIndex);
  }

  /** Whether {@code otherLength} bytes at {@code otherAddress} lie in it. */
  public boolean contains(long otherAddress, long otherLength) {
    return Ranges.covers(address, length, otherAddress, otherLength);
  }

  /** The file behind it, with the offset of this region's first byte; empty unless the registry allocated the memory. */
  public Optional<Backing> backing() {
    return registration.backing().map(backing -> backing.at(backing.offset() + address - registration.address()));
  }

  /**
   * Has the memory stay mapped after the close, for code outside of Java that has its address and may still read there.
   * Whoever asks for that owns the mapping from the close on: munmap({@link Registration#address()}, the result).
   *
   * @return the bytes of the mapping; 0 if the registry did not allocate the memory on the host, and nothing has changed
   */
  public long keepMapped() {
    return registration.allocation() instanceof HostAllocation allocation ? allocation.keepMapped() : 0;
  }

  /**
   * The memory as a segment with exactly the region's bounds.
   *
   * @throws InvalidMemoryException if it is a GPU's
   */
  public MemorySegment segment() {
    if (segment != null) {
      return segment;
    }
    if (!device().isHost()) {
      throw new InvalidMemoryException("region", this + " is memory of a GPU, which the host cannot address");
    }
    return HostMemory.segment(address, length);
  }

  /**
   * Takes a use, unless the region is closing. Whoever got one must {@link #release} it.
   *
   * @return false once the close has begun
   */
  public boolean tryRetain() {
    return uses.tryAcquire();
  }

  /**
   * Gives a use back.
   *
   * @throws IllegalStateException if there is none to give back
   */
  public void release() {
    uses.release();
  }

  /** How many uses are held now. */
  public int uses() {
    return uses.count();
  }

  /** Whether its close has begun. */
  public boolean isClosing() {
    return uses.isClosing();
  }

  /** Whether its close has ended. */
  public boolean isClosed() {
    return closed.isDone();
  }

  /** {@link #close(Duration)} with the registry's default deadline. */
  @Override
  public void close() {
    CloseResult result = close(registry.closeDeadline());
    if (result.quarantined()) {
      throw new RegistrationException(
          this + " is closed, but its memory stays mapped because not everyone let go: " + result.failures());
    }
  }

  /**
   * Closes the region: refuses new uses at once, waits until those that are held are given back, and lets the
   * registration go if no other region lies in it. Closing again returns the first result.
   *
   * @param deadline how long to wait for the uses
   * @return how it ended
   * @throws RegionInUseException if uses are left at the deadline; the region stays closing, and can be closed again
   * @throws RegistrationException if the thread is interrupted, or another thread closes it and does not finish in time
   */
  public CloseResult close(Duration deadline) {
    long start = System.nanoTime();
    long nanos = Deadlines.nanos(deadline);
    try {
      registry.startClosing(this, deadline);
      int left = uses.awaitIdle(Duration.ofNanos(Math.max(0, nanos - (System.nanoTime() - start))));
      if (left > 0) {
        throw new RegionInUseException(this, left, deadline);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RegistrationException("interrupted while closing " + this + "; it stays closing: close it again", e);
    }
    return registry.finishClosing(this);
  }

  /** Keys for peers, by transport. */
  public List<RemoteKey> remoteKeys() {
    return registration.remoteKeys();
  }

  @Override
  public String toString() {
    return "region "
        + Integer.toUnsignedString(id)
        + " ("
        + Ranges.hex(address)
        + "+"
        + length
        + ", "
        + device()
        + ", "
        + access
        + ")";
  }

  // Below: the registry's.

  boolean stopUses() {
    return uses.startClosing();
  }

  /** Held while listeners hear of the region, so that they hear of its end later. */
  ReentrantLock announcing() {
    return announcing;
  }

  CompletableFuture<CloseResult> closed() {
    return closed;
  }

  /** True for the first call, with {@link #announcing} held. */
  boolean markRemoved() {
    boolean first = !removed;
    removed = true;
    return first;
  }

  /** True for the first call, under the registry's lock. */
  boolean markFinishing() {
    boolean first = !finishing;
    finishing = true;
    return first;
  }
}
