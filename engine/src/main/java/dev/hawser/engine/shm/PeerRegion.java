/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.WorkStatus;
import org.jspecify.annotations.Nullable;

/** A region of the target as the initiator may use it. Owner thread only. */
final class PeerRegion {
  /** How it can be reached. */
  enum State {
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
  private WorkStatus refusal = WorkStatus.REMOTE_REGION_CLOSED;

  PeerRegion(int id) {
    this.id = id;
  }

  int id() {
    return id;
  }

  State state() {
    return state;
  }

  void asked() {
    state = State.ASKED;
  }

  void granted(Command grant, @Nullable PeerMapping newMapping, long newDelta) {
    address = grant.address;
    length = grant.length;
    access = grant.access;
    mapping = newMapping;
    delta = newDelta;
    state = newMapping == null ? State.COPIED : State.MAPPED;
  }

  void refused(WorkStatus status) {
    refusal = status;
    state = State.REFUSED;
  }

  void revoked() {
    state = State.REVOKED;
    refusal = WorkStatus.REMOTE_REGION_CLOSED;
  }

  /** Takes the mapping out, to be unmapped. */
  @Nullable
  PeerMapping takeMapping() {
    PeerMapping taken = mapping;
    mapping = null;
    return taken;
  }

  /** The mapping; null if it is copied by the kernel. */
  @Nullable
  PeerMapping mapping() {
    return mapping;
  }

  /** What to add to an address of the peer's to get to the same byte here. */
  long delta() {
    return delta;
  }

  boolean isLent() {
    return state == State.MAPPED || state == State.COPIED;
  }

  boolean isAwaited() {
    return state == State.UNASKED || state == State.ASKED;
  }

  /** Why it is not lent. */
  WorkStatus refusal() {
    return refusal;
  }

  boolean permits(boolean write) {
    return (access & (write ? 2 : 1)) != 0;
  }

  boolean contains(long start, long bytes) {
    long offset = start - address;
    return offset >= 0 && bytes >= 0 && offset <= length - bytes;
  }

  /** Whether all that the peer's metadata says of it is lent. */
  boolean covers(RemoteRegion published) {
    return contains(published.address(), published.length());
  }
}
