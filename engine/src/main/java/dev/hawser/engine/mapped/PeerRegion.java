/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.WorkStatus;
import org.jspecify.annotations.Nullable;

/** A region of the target as the initiator may use it. Owner thread only. */
public final class PeerRegion {
  /** How it can be reached. */
  public enum State {
    /** The question could not be sent yet. */
    UNASKED,
    /** The target has not answered yet. */
    ASKED,
    /** Mapped here. */
    MAPPED,
    /** Through the kernel. */
    COPIED,
    /** The target takes it back: no new request may use it. */
    REVOKED,
    /** The target does not lend it. */
    REFUSED
  }

  private final int id;
  private State state = State.UNASKED;
  private @Nullable PeerMapping mapping;
  private long delta;
  private long address;
  private long length;
  private int access;
  private int deviceNumber;
  private @Nullable Object attachment;
  private WorkStatus refusal = WorkStatus.REMOTE_REGION_CLOSED;

  public PeerRegion(int id) {
    this.id = id;
  }

  public int id() {
    return id;
  }

  public State state() {
    return state;
  }

  public void asked() {
    state = State.ASKED;
  }

  public void granted(Command grant, @Nullable PeerMapping newMapping, long newDelta) {
    address = grant.address;
    length = grant.length;
    access = grant.access;
    mapping = newMapping;
    delta = newDelta;
    deviceNumber = grant.fd < 0 ? (int) grant.offset : 0;
    state = newMapping == null ? State.COPIED : State.MAPPED;
  }

  public void refused(WorkStatus status) {
    refusal = status;
    state = State.REFUSED;
  }

  public void revoked() {
    state = State.REVOKED;
    refusal = WorkStatus.REMOTE_REGION_CLOSED;
  }

  /** Its first byte in the peer's address space, as it is lent. */
  public long address() {
    return address;
  }

  /** The number of the target's device that it lies on; 0 if that is the host, or it is mapped. */
  public int deviceNumber() {
    return deviceNumber;
  }

  /** Bytes that are lent. */
  public long length() {
    return length;
  }

  /** What the {@link Mover} keeps with it. */
  public @Nullable Object attachment() {
    return attachment;
  }

  /** Keeps something with it. */
  public void attach(@Nullable Object newAttachment) {
    attachment = newAttachment;
  }

  /** Takes the mapping out, to be unmapped. */
  @Nullable
  public PeerMapping takeMapping() {
    PeerMapping taken = mapping;
    mapping = null;
    return taken;
  }

  /** The mapping; null if it is copied by the kernel. */
  @Nullable
  public PeerMapping mapping() {
    return mapping;
  }

  /** What to add to an address of the peer's to get to the same byte here. */
  public long delta() {
    return delta;
  }

  public boolean isLent() {
    return state == State.MAPPED || state == State.COPIED;
  }

  public boolean isAwaited() {
    return state == State.UNASKED || state == State.ASKED;
  }

  /** Why it is not lent. */
  public WorkStatus refusal() {
    return refusal;
  }

  public boolean permits(boolean write) {
    return (access & (write ? 2 : 1)) != 0;
  }

  public boolean contains(long start, long bytes) {
    long offset = start - address;
    return offset >= 0 && bytes >= 0 && offset <= length - bytes;
  }

  /** Whether all that the peer's metadata says of it is lent. */
  public boolean covers(RemoteRegion published) {
    return contains(published.address(), published.length());
  }
}
