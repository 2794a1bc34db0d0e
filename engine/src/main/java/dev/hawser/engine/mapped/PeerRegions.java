/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.mapped;

import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.memory.ffi.NativeCallException;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The target's regions that one path of the initiator asked for. Each is asked for once, mapped once, and given back when
 * the target wants it. Owner thread only.
 */
public final class PeerRegions {
  private static final int INITIAL_SLOTS = 16;

  private final PeerProcess peer;
  private final ProcFiles proc;
  private final CommandRing toTarget;
  private final Populator populator;
  private final Command command = new Command();
  private final ArrayDeque<PeerRegion> unasked = new ArrayDeque<>();
  private final ArrayDeque<PeerRegion> givenBack = new ArrayDeque<>();
  private final ArrayDeque<PeerMapping> unmapping = new ArrayDeque<>();

  // Open addressing by region id; ids are never 0.
  private @Nullable PeerRegion[] slots = new @Nullable PeerRegion[INITIAL_SLOTS];
  private int count;
  private int version;

  public PeerRegions(PeerProcess peer, ProcFiles proc, CommandRing toTarget, Populator populator) {
    this.peer = peer;
    this.proc = proc;
    this.toTarget = toTarget;
    this.populator = populator;
  }

  public int count() {
    return count;
  }

  /** Changes whenever the answer to a question about a region may have changed. */
  public int version() {
    return version;
  }

  /** A region; the target is asked for it when it is met for the first time. */
  public PeerRegion get(int id) {
    for (int i = slot(id);; i = (i + 1) & (slots.length - 1)) {
      PeerRegion region = slots[i];
      if (region == null) {
        return add(id);
      }
      if (region.id() == id) {
        return region;
      }
    }
  }

  private PeerRegion add(int id) {
    if (2 * (count + 1) > slots.length) {
      @Nullable
      PeerRegion[] old = slots;
      slots = new @Nullable PeerRegion[2 * old.length];
      for (PeerRegion region : old) {
        if (region != null) {
          insert(region);
        }
      }
    }
    PeerRegion region = new PeerRegion(id);
    insert(region);
    count++;
    unasked.add(region);
    return region;
  }

  private void insert(PeerRegion region) {
    int i = slot(region.id());
    while (slots[i] != null) {
      i = (i + 1) & (slots.length - 1);
    }
    slots[i] = region;
  }

  private int slot(int id) {
    return ((id * 0x9e3779b9) >>> 16) & (slots.length - 1);
  }

  /** Commands to the target. */
  public CommandRing toTarget() {
    return toTarget;
  }

  /**
   * Maps a file of the target's, whole.
   *
   * @throws NativeCallException if it cannot be opened or mapped
   * @throws IllegalStateException if it is another file
   */
  public PeerMapping map(Command said) {
    return PeerMapping.map(proc.descriptor(peer.pid(), said.fd), said, 0, said.fileBytes, true);
  }

  /** Nothing uses a mapping any more: it is unmapped bit by bit. */
  public void unmap(PeerMapping mapping) {
    unmapping.add(mapping);
  }

  /** Sends what is to be sent; returns whether anything was. */
  public boolean send() {
    boolean sent = false;
    while (!givenBack.isEmpty() && toTarget.offer(command.set(Command.RELEASED, givenBack.element().id()))) {
      givenBack.remove();
      sent = true;
    }
    while (!unasked.isEmpty() && toTarget.offer(command.set(Command.MAP, unasked.element().id()))) {
      unasked.remove().asked();
      sent = true;
    }
    return sent;
  }

  /** Whether something could not be sent yet. */
  public boolean isWaitingForRoom() {
    return !givenBack.isEmpty() || !unasked.isEmpty();
  }

  /**
   * The target lends a region.
   *
   * @return empty, or why it cannot be used here: the path is of no use then
   */
  public String granted(Command grant) {
    PeerRegion region = get(grant.region);
    if (region.state() != PeerRegion.State.ASKED) {
      return "the target lends region " + Integer.toUnsignedString(grant.region) + " though nobody asked";
    }
    if (grant.length <= 0 || grant.offset < 0 || (grant.fd >= 0 && grant.fileBytes - grant.length < grant.offset)) {
      return "the target lends a region of "
          + grant.length
          + " bytes at "
          + grant.offset
          + " in a file of "
          + grant.fileBytes;
    }
    version++;
    if (grant.fd < 0) {
      region.granted(grant, null, 0);
      return "";
    }
    long start = grant.offset & -PeerMapping.BLOCK_BYTES;
    long end =
        Math.min(
            grant.fileBytes, (grant.offset + grant.length + PeerMapping.BLOCK_BYTES - 1) & -PeerMapping.BLOCK_BYTES);
    boolean writable = (grant.access & 2) != 0;
    String path = proc.descriptor(peer.pid(), grant.fd);
    try {
      PeerMapping mapping = PeerMapping.map(path, grant, start, end - start, writable);
      if (peer.isDead()) {
        // The number may have meant another process; the pidfd says that ours was gone.
        unmapping.add(mapping);
        return peer + " ended";
      }
      region.granted(grant, mapping, mapping.base() + (grant.offset - start) - grant.address);
      populator.add(mapping);
      return "";
    } catch (NativeCallException | IllegalStateException e) {
      return "memory of the target cannot be mapped: " + e.getMessage() + "; run both processes as the same user";
    }
  }

  public void refused(Command refusal) {
    version++;
    get(refusal.region)
        .refused(
            refusal.access == Command.Refusal.CLOSED.number()
                ? WorkStatus.REMOTE_REGION_CLOSED
                : WorkStatus.REMOTE_ACCESS);
  }

  /** The target wants a region back; false if it was never lent. */
  public boolean revoked(int id, List<PeerRegion> revoked) {
    PeerRegion region = get(id);
    if (!region.isLent()) {
      return false;
    }
    version++;
    region.revoked();
    revoked.add(region);
    return true;
  }

  /** Nothing under way uses these any more: they are given back, and unmapped bit by bit. */
  public void giveBack(List<PeerRegion> revoked) {
    for (int i = 0; i < revoked.size(); i++) {
      PeerRegion region = revoked.get(i);
      PeerMapping mapping = region.takeMapping();
      if (mapping != null) {
        unmapping.add(mapping);
      }
      givenBack.add(region);
      // Whoever asks for it again is told that it is closed: ids are not used twice.
      remove(region);
    }
    revoked.clear();
  }

  /** Takes a region out, and moves up those that stood behind it because their place was taken. */
  private void remove(PeerRegion region) {
    int mask = slots.length - 1;
    int hole = slot(region.id());
    while (slots[hole] != region) {
      if (slots[hole] == null) {
        return; // revoked twice
      }
      hole = (hole + 1) & mask;
    }
    count--;
    for (int i = (hole + 1) & mask;; i = (i + 1) & mask) {
      PeerRegion next = slots[i];
      if (next == null) {
        slots[hole] = null;
        return;
      }
      // It may move to the hole unless its own place lies behind the hole.
      if (((i - slot(next.id())) & mask) >= ((i - hole) & mask)) {
        slots[hole] = next;
        hole = i;
      }
    }
  }

  /** Unmaps a part of what was given back; false if there is nothing. */
  public boolean unmapSome() {
    if (unmapping.isEmpty()) {
      return false;
    }
    if (unmapping.element().unmapSome()) {
      unmapping.remove();
    }
    return true;
  }

  /** Whether something holds for any of them. */
  public boolean isAny(Predicate<PeerRegion> condition) {
    for (PeerRegion region : slots) {
      if (region != null && condition.test(region)) {
        return true;
      }
    }
    return false;
  }

  /** Does something to each. */
  public void forEach(Consumer<PeerRegion> action) {
    for (PeerRegion region : slots) {
      if (region != null) {
        action.accept(region);
      }
    }
  }

  /** Unmaps everything. */
  public void close() {
    for (PeerRegion region : slots) {
      PeerMapping mapping = region == null ? null : region.takeMapping();
      if (mapping != null) {
        unmapping.add(mapping);
      }
    }
    while (unmapSome()) {
      // part by part
    }
  }
}
