/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair's work requests, as native structs that are used again and again, each linked to the next: a batch is one
 * chain and one doorbell. What was posted is counted in work requests (for the queue's credits) and in works (for
 * reports, in the order of posting).
 *
 * <p>A reliable queue pair completes in order: a good completion means everything up to it. What ends with an error is
 * reported by the device one by one, signalled or not. Owner thread only; allocates nothing.
 */
final class SendQueue {
  /** Set in the wr_id of receives. */
  static final long RECEIVE = 1L << 62;

  /** At most so many requests follow each other without a signalled one: credits come back while a long list runs. */
  private static final int SIGNAL_EVERY = 64;

  /** Work requests kept back for messages and flushes, one more than are promised, and the first of all. */
  private static final int RESERVED = Connection.RESERVED_MESSAGES + 4;

  /** A work of several requests may need a few more than its segments, at the borders of slices. */
  private static final int SPLITS = 8;

  private static final int WRITE = VerbsAbi.Opcode.RDMA_WRITE;
  private static final int READ = VerbsAbi.Opcode.RDMA_READ;

  private final int depth;
  private final int mask;
  private final long requests;
  private final long pieces;
  private final int maxInline;

  // Sequence numbers of work requests: retired ≤ rung ≤ tail.
  private long retired;
  private long rung;
  private long tail;
  private long flushed = -1; // up to here the device has told of errors; −1: none yet
  private int unsignalled;
  private int draft; // requests written behind the tail and not posted yet

  // Works, in a ring of their own: some have no request.
  private final int workMask;
  private final long[] workIds;
  private final long[] ends; // the sequence number behind its last request
  private final long[] bytes;
  private final long[] messageEnds;
  private final @Nullable WorkStatus[] statuses; // null: decided by its completion
  private final int[] details;
  private long firstWork;
  private long nextWork;
  private long refusedBelow; // works that needed no request are all below this
  private long bytesInFlight;

  /**
   * A queue over native memory.
   *
   * @param depth work requests that the queue pair takes
   * @param address of {@link #nativeBytes} bytes
   */
  SendQueue(int depth, long address, int maxInline) {
    this.depth = depth;
    int ring = ring(depth);
    this.mask = ring - 1;
    this.requests = address;
    this.pieces = address + (long) ring * VerbsAbi.SendWr.BYTES;
    this.maxInline = maxInline;
    int works = ring * 2;
    this.workMask = works - 1;
    this.workIds = new long[works];
    this.ends = new long[works];
    this.bytes = new long[works];
    this.messageEnds = new long[works];
    this.statuses = new @Nullable WorkStatus[works];
    this.details = new int[works];
    for (int i = 0; i < ring; i++) {
      long request = requests + (long) i * VerbsAbi.SendWr.BYTES;
      RawMemory.u64(request + VerbsAbi.SendWr.WR_ID, i);
      RawMemory.u64(request + VerbsAbi.SendWr.NEXT, request(i + 1));
      RawMemory.u64(request + VerbsAbi.SendWr.SG_LIST, pieces + (long) i * VerbsAbi.Sge.BYTES);
    }
  }

  private static int ring(int depth) {
    return Integer.highestOneBit(depth * 2 - 1);
  }

  static long nativeBytes(int depth) {
    return (long) ring(depth) * (VerbsAbi.SendWr.BYTES + VerbsAbi.Sge.BYTES);
  }

  // ------------------------------------------------------------------ credits

  /** Segments of data that fit now. */
  int room() {
    return Math.max(0, depth - (int) (tail - retired) - RESERVED - SPLITS);
  }

  /** The most that {@link #room} can be. */
  int most() {
    return depth - RESERVED - SPLITS;
  }

  /** True if a message or a flush fits. */
  boolean hasRoom() {
    return tail - retired < depth && hasWork();
  }

  boolean hasWork() {
    return nextWork - firstWork <= workMask;
  }

  /** True if works are left for what is kept back. */
  boolean hasDataWork() {
    return nextWork - firstWork <= workMask - RESERVED;
  }

  /** The number of the next request. */
  long next() {
    return tail;
  }

  /** True if every request below this number ended well. */
  boolean isCompleted(long number) {
    return retired >= number;
  }

  long bytesInFlight() {
    return bytesInFlight;
  }

  /** True if nothing that was posted waits for its report. */
  boolean isEmpty() {
    return firstWork == nextWork;
  }

  // ------------------------------------------------------------------ posting

  private long request(long sequence) {
    return requests + (sequence & mask) * VerbsAbi.SendWr.BYTES;
  }

  /** Writes one more request of a work that is being made: false if the queue has no room for it. */
  boolean draft(boolean read, long local, int localKey, long remote, int remoteKey, int length, boolean inlined) {
    long sequence = tail + draft;
    if (sequence - retired >= depth - RESERVED) {
      return false;
    }
    draft++;
    long request = request(sequence);
    int flags = inlined && length <= maxInline && !read ? VerbsAbi.SendFlags.INLINE : 0;
    RawMemory.u64(request + VerbsAbi.SendWr.NUM_SGE, 1L | (long) (read ? READ : WRITE) << 32);
    RawMemory.u32(request + VerbsAbi.SendWr.SEND_FLAGS, flags);
    RawMemory.u64(request + VerbsAbi.SendWr.REMOTE_ADDR, remote);
    RawMemory.u32(request + VerbsAbi.SendWr.RKEY, remoteKey);
    long piece = pieces + (sequence & mask) * VerbsAbi.Sge.BYTES;
    RawMemory.u64(piece + VerbsAbi.Sge.ADDR, local);
    RawMemory.u64(piece + VerbsAbi.Sge.LENGTH, Integer.toUnsignedLong(length) | (long) localKey << 32);
    return true;
  }

  /** Forgets the work that was being made. */
  void discardDraft() {
    draft = 0;
  }

  /** Posts the work that was being made. */
  void postDraft(long workId, long length) {
    int count = draft;
    draft = 0;
    unsignalled += count;
    tail += count;
    bytesInFlight += length;
    add(workId, length, -1, null);
    if (unsignalled >= SIGNAL_EVERY) {
      signal();
    }
  }

  /** Takes the last request for one whose completion is told. */
  private void signal() {
    long flags = request(tail - 1) + VerbsAbi.SendWr.SEND_FLAGS;
    RawMemory.u32(flags, RawMemory.u32(flags) | VerbsAbi.SendFlags.SIGNALED);
    unsignalled = 0;
  }

  /** Adds a work that needs no request: it is reported in its turn. */
  void addEnded(long workId, WorkStatus status) {
    draft = 0;
    add(workId, 0, -1, status);
    refusedBelow = nextWork;
  }

  /** Whether such a work waits for its report: nothing may be chained to it. */
  boolean holdsRefused() {
    return firstWork < refusedBelow;
  }

  /**
   * Posts a message.
   *
   * @param end where its bytes end in the owner's ring: {@link #messagesTo} when it is done
   */
  void postMessage(long workId, long local, int localKey, int length, long end) {
    long request = request(tail);
    int flags = length <= maxInline ? VerbsAbi.SendFlags.INLINE : 0;
    RawMemory.u64(request + VerbsAbi.SendWr.NUM_SGE, (length == 0 ? 0L : 1L) | (long) VerbsAbi.Opcode.SEND << 32);
    RawMemory.u32(request + VerbsAbi.SendWr.SEND_FLAGS, flags);
    long piece = pieces + (tail & mask) * VerbsAbi.Sge.BYTES;
    RawMemory.u64(piece + VerbsAbi.Sge.ADDR, local);
    RawMemory.u64(piece + VerbsAbi.Sge.LENGTH, Integer.toUnsignedLong(length) | (long) localKey << 32);
    tail++;
    unsignalled++;
    add(workId, 0, end, null);
  }

  /** Posts a zero-byte write with immediate data. */
  void postImmediate(long workId, int immediate) {
    long request = request(tail);
    RawMemory.u64(request + VerbsAbi.SendWr.NUM_SGE, (long) VerbsAbi.Opcode.RDMA_WRITE_WITH_IMM << 32);
    RawMemory.u64(
        request + VerbsAbi.SendWr.SEND_FLAGS, Integer.toUnsignedLong(Integer.reverseBytes(immediate)) << 32);
    RawMemory.u64(request + VerbsAbi.SendWr.REMOTE_ADDR, 0);
    RawMemory.u32(request + VerbsAbi.SendWr.RKEY, 0);
    tail++;
    unsignalled++;
    add(workId, 0, -1, null);
  }

  private void add(long workId, long length, long messageEnd, @Nullable WorkStatus status) {
    int work = (int) nextWork & workMask;
    workIds[work] = workId;
    ends[work] = tail;
    bytes[work] = length;
    messageEnds[work] = messageEnd;
    statuses[work] = status;
    details[work] = 0;
    nextWork++;
  }

  // ------------------------------------------------------------------ the doorbell

  boolean hasUnrung() {
    return rung < tail;
  }

  /** The first request of the chain that the doorbell is rung for; its last one is signalled. */
  long chain() {
    signal();
    RawMemory.u64(request(tail - 1) + VerbsAbi.SendWr.NEXT, 0);
    return request(rung);
  }

  /**
   * The chain was handed over.
   *
   * @param bad the first request that was not taken; 0 if all were
   */
  void chainPosted(long bad) {
    RawMemory.u64(request(tail - 1) + VerbsAbi.SendWr.NEXT, request(tail));
    if (bad == 0) {
      rung = tail;
      return;
    }
    while (rung < tail && request(rung) != bad) {
      rung++;
    }
  }

  // ------------------------------------------------------------------ completions

  /** True if {@code slot} names a request that is under way. */
  boolean isUnderWay(long slot) {
    return slot >= 0 && slot <= mask && sequence(slot) < rung;
  }

  private long sequence(long slot) {
    long from = Math.max(retired, flushed);
    return from + ((slot - from) & mask);
  }

  /** Everything up to this request ended well. */
  void completed(long slot) {
    retired = sequence(slot) + 1;
  }

  /**
   * This request ended with an error, and all behind it will. What lies before it and was not told to have ended well may
   * have: its outcome is not known.
   */
  void failed(long slot, WorkStatus status, int detail) {
    long sequence = sequence(slot);
    if (status != WorkStatus.FLUSHED) {
      for (long work = firstWork; work < nextWork; work++) {
        int i = (int) work & workMask;
        if (ends[i] > sequence) {
          if (statuses[i] == null) {
            statuses[i] = status;
            details[i] = detail;
          }
          break;
        }
      }
    }
    flushed = sequence + 1;
  }

  /** The queue pair is in error: nothing is handed over any more, and what was not is given up. */
  void stop() {
    if (flushed < 0) {
      flushed = retired;
    }
  }

  /** True if, after {@link #stop}, the device has told of every request that it had. */
  boolean isFlushed() {
    return flushed >= rung || retired == rung;
  }

  /** The device is gone: it will tell nothing more. */
  void giveUp() {
    flushed = rung;
  }

  // ------------------------------------------------------------------ reports

  /** True if the first work can be reported. */
  boolean hasEnded() {
    if (firstWork == nextWork) {
      return false;
    }
    long end = ends[(int) firstWork & workMask];
    return end <= retired || (flushed >= 0 && (end <= flushed || isFlushed()));
  }

  long workId() {
    return workIds[(int) firstWork & workMask];
  }

  int detail() {
    return details[(int) firstWork & workMask];
  }

  WorkStatus status() {
    int work = (int) firstWork & workMask;
    WorkStatus status = statuses[work];
    return status != null ? status : ends[work] <= retired ? WorkStatus.SUCCESS : WorkStatus.FLUSHED;
  }

  /** The end of its message's bytes; −1 if it is none. */
  long messagesTo() {
    return messageEnds[(int) firstWork & workMask];
  }

  void removeWork() {
    bytesInFlight -= bytes[(int) firstWork & workMask];
    firstWork++;
  }
}
