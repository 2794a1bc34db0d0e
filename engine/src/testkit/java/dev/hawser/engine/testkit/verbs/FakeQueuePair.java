/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A reliable connected queue pair. Its requests are carried out in order; one that waits (no receive at the peer, no way
 * there, held by the test) holds back those behind it. Thread-safe.
 */
public final class FakeQueuePair {
  private static final long MICROSECOND = 1_000;
  // Codes of min_rnr_timer in microseconds: InfiniBand specification, "RNR NAK timer field".
  private static final int[] RNR_MICROSECONDS = {
      655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840, 5_120, 7_680,
      10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680, 491_520
  };

  private enum Stall {
    NONE, HELD, NO_ANSWER, NOT_READY
  }

  private final Fabric fabric;
  private final FakeDevice device;
  private final FakeDomain domain;
  private final long struct;
  private final int handle;
  private final int number;
  private final FakeCompletionQueue sendQueue;
  private final FakeCompletionQueue receiveCompletions;
  private final FakeReceiveQueue receives;
  private final boolean shared;
  private final boolean signalAll;
  private final int maxSend;
  private final int maxPieces;
  private final int maxInline;
  private final int slotBytes;
  private final long slots;

  private boolean alive = true;
  private int state = VerbsAbi.QpState.RESET;
  private int access;
  private int mtu;
  private int sendPsn;
  private int receivePsn;
  private int destination;
  private int destinationReads;
  private int reads;
  private int timeout;
  private int retries;
  private int notReadyRetries;
  private int notReadyTimer;
  private byte[] destinationGid = new byte[16];
  private int gidIndex;

  // Requests: those below retired are the poster's again, those below done were carried out.
  private long posted;
  private long done;
  private long retired;
  private long unacknowledged;
  private boolean held;
  private boolean deaf;
  private Stall stall = Stall.NONE;
  private long stallEnds;
  private @Nullable FakeQueuePair peer;
  private long peerTopology;

  FakeQueuePair(
      FakeDomain domain,
      long struct,
      FakeCompletionQueue sendQueue,
      FakeCompletionQueue receiveCompletions,
      FakeReceiveQueue receives,
      boolean signalAll,
      long initAttr) {
    this.domain = domain;
    this.device = domain.device();
    this.fabric = device.fabric();
    this.struct = struct;
    this.sendQueue = sendQueue;
    this.receiveCompletions = receiveCompletions;
    this.receives = receives;
    this.shared = receives.struct() != 0;
    this.signalAll = signalAll;
    this.maxSend = RawMemory.u32(initAttr + VerbsAbi.QpInitAttr.MAX_SEND_WR);
    this.maxPieces = Math.max(1, RawMemory.u32(initAttr + VerbsAbi.QpInitAttr.MAX_SEND_SGE));
    this.maxInline = RawMemory.u32(initAttr + VerbsAbi.QpInitAttr.MAX_INLINE_DATA);
    this.slotBytes = VerbsAbi.SendWr.BYTES + maxPieces * VerbsAbi.Sge.BYTES + maxInline;
    this.slots = fabric.struct((long) Math.max(1, maxSend) * slotBytes);
    this.handle = fabric.queuePairs().add(this);
    this.number = Fabric.number(handle);
    RawMemory.u64(struct + VerbsAbi.Qp.CONTEXT, domain.context());
    RawMemory.u64(struct + VerbsAbi.Qp.QP_CONTEXT, RawMemory.u64(initAttr + VerbsAbi.QpInitAttr.QP_CONTEXT));
    RawMemory.u64(struct + VerbsAbi.Qp.PD, domain.struct());
    RawMemory.u64(struct + VerbsAbi.Qp.SEND_CQ, sendQueue.struct());
    RawMemory.u64(struct + VerbsAbi.Qp.RECV_CQ, receiveCompletions.struct());
    RawMemory.u64(struct + VerbsAbi.Qp.SRQ, receives.struct());
    RawMemory.u32(struct + VerbsAbi.Qp.HANDLE, handle);
    RawMemory.u32(struct + VerbsAbi.Qp.QP_NUM, number);
    RawMemory.u32(struct + VerbsAbi.Qp.STATE, state);
    RawMemory.u32(struct + VerbsAbi.Qp.QP_TYPE, VerbsAbi.QpType.RC);
  }

  // ------------------------------------------------------------------ for tests

  /** The number that completions and messages name. */
  public int number() {
    return number;
  }

  /** The number of the one that it is connected to; 0 before it is. */
  public int peerNumber() {
    return destination;
  }

  /** The state, one of {@link VerbsAbi.QpState}. */
  public int state() {
    synchronized (fabric) {
      return state;
    }
  }

  /** The device that it is on. */
  public FakeDevice device() {
    return device;
  }

  /** Requests that were posted and not yet carried out. */
  public long waiting() {
    synchronized (fabric) {
      return posted - done;
    }
  }

  /** Carries out nothing that is posted from now on, until {@link #release()}. */
  public void hold() {
    synchronized (fabric) {
      held = true;
    }
  }

  /** Goes on. */
  public void release() {
    synchronized (fabric) {
      held = false;
      fabric.progress();
    }
  }

  /** Breaks it as its own device would: it goes to the error state, and a QP_FATAL event tells so. */
  public void breakDown() {
    synchronized (fabric) {
      toError();
      device.raise(VerbsAbi.EventType.QP_FATAL, struct);
    }
  }

  /** As if it had been destroyed: it answers no more, and nobody is told. */
  public void vanish() {
    synchronized (fabric) {
      deaf = true;
      fabric.changed();
    }
  }

  @Override
  public String toString() {
    return String.format(Locale.ROOT, "%s queue pair 0x%x", device.name(), number);
  }

  // ------------------------------------------------------------------ under the fabric's lock

  long struct() {
    return struct;
  }

  FakeDomain domain() {
    return domain;
  }

  FakeReceiveQueue receives() {
    return receives;
  }

  FakeCompletionQueue sendQueue() {
    return sendQueue;
  }

  FakeCompletionQueue receiveCompletions() {
    return receiveCompletions;
  }

  boolean shared() {
    return shared;
  }

  int handle() {
    return handle;
  }

  long unacknowledged() {
    return unacknowledged;
  }

  void delivered(int change) {
    unacknowledged += change;
  }

  void retire(long upTo) {
    retired = Math.max(retired, upTo);
  }

  void destroyed() {
    alive = false;
    sendQueue.forget(this);
    receiveCompletions.forget(this);
    fabric.queuePairs().remove(handle);
    fabric.changed();
  }

  int post(long first, long bad) {
    device.countDoorbell();
    for (long wr = first; wr != 0; wr = RawMemory.u64(wr + VerbsAbi.SendWr.NEXT)) {
      int errno = refusal(wr);
      if (errno != 0) {
        RawMemory.u64(bad, wr);
        return errno;
      }
      device.countRequest(RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS));
      long index = posted++;
      if (state == VerbsAbi.QpState.ERR) {
        flush(wr, index);
        done = posted;
      } else if (done == index && !held && !device.isHeld() && tried(wr, index)) {
        done = posted;
      } else {
        if (done == index && stall == Stall.NONE) {
          stall = Stall.HELD;
        }
        keep(wr, index);
        fabric.stalled(this);
      }
    }
    return 0;
  }

  private int refusal(long wr) {
    if (state != VerbsAbi.QpState.RTS && state != VerbsAbi.QpState.ERR && state != VerbsAbi.QpState.SQD) {
      fabric.violation(this + ": a request was posted in state " + state);
      return FakeErrno.EINVAL;
    }
    int injected = device.refusalOfPost();
    if (injected != 0) {
      return injected;
    }
    if (posted - retired >= maxSend) {
      fabric.violation(this + ": its send queue of " + maxSend + " was overfilled");
      return FakeErrno.ENOMEM;
    }
    int pieces = RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE);
    int opcode = RawMemory.u32(wr + VerbsAbi.SendWr.OPCODE);
    boolean inline = (RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS) & VerbsAbi.SendFlags.INLINE) != 0;
    if (pieces < 0
        || pieces > maxPieces
        || opcode < VerbsAbi.Opcode.RDMA_WRITE
        || opcode > VerbsAbi.Opcode.RDMA_READ
        || (inline && (opcode == VerbsAbi.Opcode.RDMA_READ || length(wr) > maxInline))) {
      fabric.violation(this + ": a request that no device takes: opcode " + opcode + ", " + pieces + " pieces");
      return FakeErrno.EINVAL;
    }
    return 0;
  }

  /** Copies a request as hardware does: afterwards the poster may change it, and what was inline. */
  private void keep(long wr, long index) {
    long slot = slots + index % maxSend * slotBytes;
    int pieces = RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE);
    RawMemory.copy(wr, slot, VerbsAbi.SendWr.BYTES);
    long list = slot + VerbsAbi.SendWr.BYTES;
    RawMemory.copy(RawMemory.u64(wr + VerbsAbi.SendWr.SG_LIST), list, (long) pieces * VerbsAbi.Sge.BYTES);
    RawMemory.u64(slot + VerbsAbi.SendWr.SG_LIST, list);
    if ((RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS) & VerbsAbi.SendFlags.INLINE) != 0) {
      long to = list + (long) maxPieces * VerbsAbi.Sge.BYTES;
      for (int i = 0; i < pieces; i++) {
        long piece = list + (long) i * VerbsAbi.Sge.BYTES;
        long bytes = Integer.toUnsignedLong(RawMemory.u32(piece + VerbsAbi.Sge.LENGTH));
        RawMemory.copy(RawMemory.u64(piece + VerbsAbi.Sge.ADDR), to, bytes);
        RawMemory.u64(piece + VerbsAbi.Sge.ADDR, to);
        to += bytes;
      }
    }
  }

  /** Goes on with what waits; true if nothing does any more. */
  boolean progress() {
    while (alive && done < posted && state == VerbsAbi.QpState.RTS) {
      if (held || device.isHeld()) {
        return false;
      }
      long index = done;
      if (!tried(slots + index % maxSend * slotBytes, index)) {
        return false;
      }
      if (done == index) { // an error has flushed all of it
        done = index + 1;
      }
    }
    return !alive || done == posted || state != VerbsAbi.QpState.RTS;
  }

  /** Carries a request out, unless it has to wait. */
  private boolean tried(long wr, long index) {
    Stall why = execute(wr, index);
    if (why == Stall.NONE) {
      stall = Stall.NONE;
      return true;
    }
    if (stall != why) {
      stall = why;
      stallEnds = patience(why);
    }
    if (System.nanoTime() - stallEnds < 0) {
      return false;
    }
    stall = Stall.NONE;
    fail(
        wr,
        index,
        why == Stall.NOT_READY ? VerbsAbi.WcStatus.RNR_RETRY_EXC_ERR : VerbsAbi.WcStatus.RETRY_EXC_ERR,
        why == Stall.NOT_READY ? 0x87 : 0x81);
    return true;
  }

  private long patience(Stall why) {
    long now = System.nanoTime();
    if (why == Stall.NOT_READY) {
      FakeQueuePair there = peer;
      int timer = there == null ? notReadyTimer : there.notReadyTimer;
      // 7 means for ever.
      return notReadyRetries == 7
          ? now + Long.MAX_VALUE / 2
          : now + (notReadyRetries + 1L) * RNR_MICROSECONDS[timer & 31] * MICROSECOND;
    }
    // 4.096 microseconds times two to the power of the code; 0 means for ever.
    return timeout == 0
        ? now + Long.MAX_VALUE / 2
        : now + (retries + 1L) * (4096L << timeout);
  }

  private Stall execute(long wr, long index) {
    int opcode = RawMemory.u32(wr + VerbsAbi.SendWr.OPCODE);
    long injected = device.injected(this, opcode);
    if (injected != 0) {
      fail(wr, index, (int) injected, (int) (injected >>> 32));
      return Stall.NONE;
    }
    FakeQueuePair there = reach();
    if (there == null) {
      return Stall.NO_ANSWER;
    }
    long bytes = length(wr);
    if (bytes > mtuBytes(there.mtu) && mtu > there.mtu) { // its packets are longer than the peer takes
      return failBoth(there, wr, index, VerbsAbi.WcStatus.REM_INV_REQ_ERR, VerbsAbi.EventType.QP_REQ_ERR);
    }
    if (bytes > device.maxMessage()) {
      fail(wr, index, VerbsAbi.WcStatus.LOC_LEN_ERR, 0x68);
      return Stall.NONE;
    }
    boolean reading = opcode == VerbsAbi.Opcode.RDMA_READ;
    if (!localPermits(wr, reading ? VerbsAbi.AccessFlags.LOCAL_WRITE : 0)) {
      fail(wr, index, VerbsAbi.WcStatus.LOC_PROT_ERR, 0x51);
      return Stall.NONE;
    }
    if (reading) {
      return read(there, wr, index, bytes);
    }
    boolean writing = opcode == VerbsAbi.Opcode.RDMA_WRITE || opcode == VerbsAbi.Opcode.RDMA_WRITE_WITH_IMM;
    if (writing && !there.permits(wr, bytes, VerbsAbi.AccessFlags.REMOTE_WRITE)) {
      return failBoth(there, wr, index, VerbsAbi.WcStatus.REM_ACCESS_ERR, VerbsAbi.EventType.QP_ACCESS_ERR);
    }
    long receive = 0;
    if (opcode != VerbsAbi.Opcode.RDMA_WRITE) {
      receive = there.receives.take();
      if (receive == 0) {
        return Stall.NOT_READY;
      }
    }
    if (writing) {
      gather(wr, RawMemory.u64(wr + VerbsAbi.SendWr.REMOTE_ADDR));
      device.countWritten(bytes);
    } else if (!there.scatter(wr, bytes, receive)) {
      fail(
          wr,
          index,
          there.state == VerbsAbi.QpState.ERR ? VerbsAbi.WcStatus.REM_INV_REQ_ERR : VerbsAbi.WcStatus.REM_OP_ERR,
          0x88);
      return Stall.NONE;
    }
    int flags = RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS);
    if (receive != 0) {
      boolean immediate = opcode != VerbsAbi.Opcode.SEND;
      there.receiveCompletions.add(
          there,
          -1,
          FakeReceiveQueue.id(receive),
          VerbsAbi.WcStatus.SUCCESS,
          writing ? VerbsAbi.WcOpcode.RECV_RDMA_WITH_IMM : VerbsAbi.WcOpcode.RECV,
          0,
          (int) bytes,
          immediate ? RawMemory.u32(wr + VerbsAbi.SendWr.IMM_DATA) : 0x5a5a5a5a,
          immediate ? VerbsAbi.WcFlags.WITH_IMM : 0,
          (flags & VerbsAbi.SendFlags.SOLICITED) != 0);
    }
    if (signalAll || (flags & VerbsAbi.SendFlags.SIGNALED) != 0) {
      sendQueue.add(
          this,
          index + 1,
          RawMemory.u64(wr + VerbsAbi.SendWr.WR_ID),
          VerbsAbi.WcStatus.SUCCESS,
          writing ? VerbsAbi.WcOpcode.RDMA_WRITE : VerbsAbi.WcOpcode.SEND,
          0,
          (int) bytes,
          0,
          0,
          false);
    }
    return Stall.NONE;
  }

  private Stall read(FakeQueuePair there, long wr, long index, long bytes) {
    if (reads == 0 || there.destinationReads == 0 || reads > there.destinationReads) {
      return failBoth(there, wr, index, VerbsAbi.WcStatus.REM_INV_REQ_ERR, VerbsAbi.EventType.QP_REQ_ERR);
    }
    if (!there.permits(wr, bytes, VerbsAbi.AccessFlags.REMOTE_READ)) {
      return failBoth(there, wr, index, VerbsAbi.WcStatus.REM_ACCESS_ERR, VerbsAbi.EventType.QP_ACCESS_ERR);
    }
    if (device.movesBytes()) {
      long from = RawMemory.u64(wr + VerbsAbi.SendWr.REMOTE_ADDR);
      long list = RawMemory.u64(wr + VerbsAbi.SendWr.SG_LIST);
      int pieces = RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE);
      for (int i = 0; i < pieces; i++) {
        long piece = list + (long) i * VerbsAbi.Sge.BYTES;
        long length = Integer.toUnsignedLong(RawMemory.u32(piece + VerbsAbi.Sge.LENGTH));
        RawMemory.copy(from, RawMemory.u64(piece + VerbsAbi.Sge.ADDR), length);
        from += length;
      }
    }
    device.countRead(bytes);
    if (signalAll || (RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS) & VerbsAbi.SendFlags.SIGNALED) != 0) {
      sendQueue.add(
          this,
          index + 1,
          RawMemory.u64(wr + VerbsAbi.SendWr.WR_ID),
          VerbsAbi.WcStatus.SUCCESS,
          VerbsAbi.WcOpcode.RDMA_READ,
          0,
          (int) bytes,
          0,
          0,
          false);
    }
    return Stall.NONE;
  }

  /** The queue pair at the other end, if it is there and answers. */
  private @Nullable FakeQueuePair reach() {
    if (peerTopology != fabric.topology()) {
      peerTopology = fabric.topology();
      peer = null;
      FakeQueuePair there = fabric.byNumber(destination);
      if (there != null
          && !deaf
          && !there.deaf
          && device.carries()
          && device.gidAt(gidIndex) != null
          && fabric.byGid(destinationGid) == there.device
          && there.destination == number
          && there.receivePsn == sendPsn) {
        peer = there;
      }
    }
    FakeQueuePair there = peer;
    return there != null
        && (there.state == VerbsAbi.QpState.RTR || there.state == VerbsAbi.QpState.RTS)
            ? there
            : null;
  }

  private static long length(long wr) {
    long list = RawMemory.u64(wr + VerbsAbi.SendWr.SG_LIST);
    int pieces = RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE);
    long bytes = 0;
    for (int i = 0; i < pieces; i++) {
      bytes += Integer.toUnsignedLong(RawMemory.u32(list + (long) i * VerbsAbi.Sge.BYTES + VerbsAbi.Sge.LENGTH));
    }
    return bytes;
  }

  private boolean localPermits(long wr, int wanted) {
    if ((RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS) & VerbsAbi.SendFlags.INLINE) != 0) {
      return true;
    }
    long list = RawMemory.u64(wr + VerbsAbi.SendWr.SG_LIST);
    int pieces = RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE);
    for (int i = 0; i < pieces; i++) {
      if (!pieceLies(list + (long) i * VerbsAbi.Sge.BYTES, wanted)) {
        return false;
      }
    }
    return true;
  }

  private boolean pieceLies(long piece, int wanted) {
    long bytes = Integer.toUnsignedLong(RawMemory.u32(piece + VerbsAbi.Sge.LENGTH));
    if (bytes == 0) {
      return true;
    }
    int key = RawMemory.u32(piece + VerbsAbi.Sge.LKEY);
    FakeMemory memory = device.memories().get(FakeMemory.handleOf(key));
    return memory != null
        && memory.lkey() == key
        && memory.domain() == domain
        && memory.permits(RawMemory.u64(piece + VerbsAbi.Sge.ADDR), bytes, wanted);
  }

  /** Target: whether a request of the peer may touch what it names. */
  private boolean permits(long wr, long bytes, int wanted) {
    if (bytes == 0) {
      return true;
    }
    int key = RawMemory.u32(wr + VerbsAbi.SendWr.RKEY);
    FakeMemory memory = device.memories().get(FakeMemory.handleOf(key));
    return (access & wanted) == wanted
        && memory != null
        && memory.rkey() == key
        && memory.domain() == domain
        && memory.permits(RawMemory.u64(wr + VerbsAbi.SendWr.REMOTE_ADDR), bytes, wanted);
  }

  private void gather(long wr, long to) {
    if (!device.movesBytes()) {
      return;
    }
    long list = RawMemory.u64(wr + VerbsAbi.SendWr.SG_LIST);
    int pieces = RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE);
    long at = to;
    for (int i = 0; i < pieces; i++) {
      long piece = list + (long) i * VerbsAbi.Sge.BYTES;
      long bytes = Integer.toUnsignedLong(RawMemory.u32(piece + VerbsAbi.Sge.LENGTH));
      RawMemory.copy(RawMemory.u64(piece + VerbsAbi.Sge.ADDR), at, bytes);
      at += bytes;
    }
  }

  /** Target: puts a message where a receive says; false if that is wrong, and then this queue pair has failed. */
  private boolean scatter(long wr, long bytes, long receive) {
    long room = 0;
    for (int i = 0; i < FakeReceiveQueue.pieces(receive); i++) {
      long piece = FakeReceiveQueue.piece(receive, i);
      room += Integer.toUnsignedLong(RawMemory.u32(piece + VerbsAbi.Sge.LENGTH));
      if (!pieceLies(piece, VerbsAbi.AccessFlags.LOCAL_WRITE)) {
        failReceive(receive, VerbsAbi.WcStatus.LOC_PROT_ERR);
        return false;
      }
    }
    if (bytes > room) {
      failReceive(receive, VerbsAbi.WcStatus.LOC_LEN_ERR);
      return false;
    }
    int into = 0;
    long offset = 0;
    long list = RawMemory.u64(wr + VerbsAbi.SendWr.SG_LIST);
    int pieces = RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE);
    for (int i = 0; i < pieces; i++) {
      long from = RawMemory.u64(list + (long) i * VerbsAbi.Sge.BYTES + VerbsAbi.Sge.ADDR);
      long left = Integer.toUnsignedLong(RawMemory.u32(list + (long) i * VerbsAbi.Sge.BYTES + VerbsAbi.Sge.LENGTH));
      while (left > 0) {
        long piece = FakeReceiveQueue.piece(receive, into);
        long free = Integer.toUnsignedLong(RawMemory.u32(piece + VerbsAbi.Sge.LENGTH)) - offset;
        long now = Math.min(free, left);
        RawMemory.copy(from, RawMemory.u64(piece + VerbsAbi.Sge.ADDR) + offset, now);
        from += now;
        left -= now;
        offset += now;
        if (now == free) {
          into++;
          offset = 0;
        }
      }
    }
    return true;
  }

  private void failReceive(long receive, int status) {
    receiveCompletions.add(this, -1, FakeReceiveQueue.id(receive), status, 0, 0x32, 0, 0, 0, true);
    toError();
  }

  private void fail(long wr, long index, int status, int vendorError) {
    sendQueue.add(this, index + 1, RawMemory.u64(wr + VerbsAbi.SendWr.WR_ID), status, 0, vendorError, 0, 0, 0, true);
    done = index + 1;
    toError();
  }

  private Stall failBoth(FakeQueuePair there, long wr, long index, int status, int event) {
    there.toError();
    there.device.raise(event, there.struct);
    fail(wr, index, status, 0x88);
    return Stall.NONE;
  }

  private void flush(long wr, long index) {
    sendQueue.add(
        this,
        index + 1,
        RawMemory.u64(wr + VerbsAbi.SendWr.WR_ID),
        VerbsAbi.WcStatus.WR_FLUSH_ERR,
        0,
        0xf9,
        0,
        0,
        0,
        true);
  }

  private void toError() {
    if (state == VerbsAbi.QpState.ERR || state == VerbsAbi.QpState.RESET) {
      return;
    }
    state(VerbsAbi.QpState.ERR);
    while (done < posted) {
      long index = done++;
      flush(slots + index % maxSend * slotBytes, index);
    }
    if (shared) {
      device.raise(VerbsAbi.EventType.QP_LAST_WQE_REACHED, struct);
    } else {
      for (long receive = receives.take(); receive != 0; receive = receives.take()) {
        receiveCompletions.add(
            this, -1, FakeReceiveQueue.id(receive), VerbsAbi.WcStatus.WR_FLUSH_ERR, 0, 0xf9, 0, 0, 0, true);
      }
    }
  }

  private void state(int next) {
    state = next;
    RawMemory.u32(struct + VerbsAbi.Qp.STATE, next);
  }

  private static int mtuBytes(int code) {
    return 128 << code;
  }

  // ------------------------------------------------------------------ attributes

  int modify(long attr, int mask) {
    int next = (mask & VerbsAbi.QpMask.STATE) == 0 ? state : RawMemory.u32(attr + VerbsAbi.QpAttr.QP_STATE);
    switch (next) {
      case VerbsAbi.QpState.ERR -> toError();
      case VerbsAbi.QpState.RESET -> {
        state(next);
        posted = done = retired = 0;
        sendQueue.forget(this);
        receiveCompletions.forget(this);
        if (!shared) {
          receives.clear();
        }
        fabric.changed();
      }
      case VerbsAbi.QpState.INIT -> {
        int needed =
            VerbsAbi.QpMask.STATE | VerbsAbi.QpMask.PKEY_INDEX | VerbsAbi.QpMask.PORT | VerbsAbi.QpMask.ACCESS_FLAGS;
        if (state != VerbsAbi.QpState.RESET
            || (mask & needed) != needed
            || RawMemory.u8(attr + VerbsAbi.QpAttr.PORT_NUM) != 1
            || RawMemory.u16(attr + VerbsAbi.QpAttr.PKEY_INDEX) != 0) {
          return FakeErrno.EINVAL;
        }
        access = RawMemory.u32(attr + VerbsAbi.QpAttr.QP_ACCESS_FLAGS);
        state(next);
      }
      case VerbsAbi.QpState.RTR -> {
        return toReceive(attr, mask);
      }
      case VerbsAbi.QpState.RTS -> {
        int needed =
            VerbsAbi.QpMask.STATE
                | VerbsAbi.QpMask.TIMEOUT
                | VerbsAbi.QpMask.RETRY_CNT
                | VerbsAbi.QpMask.RNR_RETRY
                | VerbsAbi.QpMask.SQ_PSN
                | VerbsAbi.QpMask.MAX_QP_RD_ATOMIC;
        if (state != VerbsAbi.QpState.RTR || (mask & needed) != needed) {
          return FakeErrno.EINVAL;
        }
        timeout = RawMemory.u8(attr + VerbsAbi.QpAttr.TIMEOUT);
        retries = RawMemory.u8(attr + VerbsAbi.QpAttr.RETRY_CNT);
        notReadyRetries = RawMemory.u8(attr + VerbsAbi.QpAttr.RNR_RETRY);
        sendPsn = RawMemory.u32(attr + VerbsAbi.QpAttr.SQ_PSN) & 0xffffff;
        reads = RawMemory.u8(attr + VerbsAbi.QpAttr.MAX_RD_ATOMIC);
        if (timeout > 31 || retries > 7 || notReadyRetries > 7 || reads > device.maxReads()) {
          return FakeErrno.EINVAL;
        }
        state(next);
        fabric.changed();
      }
      default -> {
        return FakeErrno.EINVAL;
      }
    }
    return 0;
  }

  private int toReceive(long attr, int mask) {
    int needed =
        VerbsAbi.QpMask.STATE
            | VerbsAbi.QpMask.AV
            | VerbsAbi.QpMask.PATH_MTU
            | VerbsAbi.QpMask.DEST_QPN
            | VerbsAbi.QpMask.RQ_PSN
            | VerbsAbi.QpMask.MAX_DEST_RD_ATOMIC
            | VerbsAbi.QpMask.MIN_RNR_TIMER;
    if (state != VerbsAbi.QpState.INIT || (mask & needed) != needed) {
      return FakeErrno.EINVAL;
    }
    int index = RawMemory.u8(attr + VerbsAbi.QpAttr.SGID_INDEX);
    int wantedMtu = RawMemory.u32(attr + VerbsAbi.QpAttr.PATH_MTU);
    int wantedReads = RawMemory.u8(attr + VerbsAbi.QpAttr.MAX_DEST_RD_ATOMIC);
    if (RawMemory.u8(attr + VerbsAbi.QpAttr.IS_GLOBAL) != 1
        || RawMemory.u8(attr + VerbsAbi.QpAttr.AH_PORT_NUM) != 1
        || RawMemory.u8(attr + VerbsAbi.QpAttr.HOP_LIMIT) == 0
        || device.gidAt(index) == null
        || wantedMtu < VerbsAbi.Mtu.BYTES_256
        || wantedMtu > device.mtu()
        || wantedReads > device.maxReads()) {
      return FakeErrno.EINVAL;
    }
    byte[] gid = new byte[16];
    for (int i = 0; i < gid.length; i++) {
      gid[i] = (byte) RawMemory.u8(attr + VerbsAbi.QpAttr.DGID + i);
    }
    if (!device.carries() || fabric.byGid(gid) == null) {
      return FakeErrno.ETIMEDOUT; // as the kernel, which looks for the neighbour now
    }
    gidIndex = index;
    mtu = wantedMtu;
    destinationGid = gid;
    destination = RawMemory.u32(attr + VerbsAbi.QpAttr.DEST_QP_NUM);
    receivePsn = RawMemory.u32(attr + VerbsAbi.QpAttr.RQ_PSN) & 0xffffff;
    destinationReads = wantedReads;
    notReadyTimer = RawMemory.u8(attr + VerbsAbi.QpAttr.MIN_RNR_TIMER);
    state(VerbsAbi.QpState.RTR);
    fabric.changed();
    return 0;
  }

  int query(long attr, long initAttr) {
    RawMemory.u32(attr + VerbsAbi.QpAttr.QP_STATE, state);
    RawMemory.u32(attr + VerbsAbi.QpAttr.CUR_QP_STATE, state);
    RawMemory.u32(attr + VerbsAbi.QpAttr.PATH_MTU, mtu);
    RawMemory.u32(attr + VerbsAbi.QpAttr.RQ_PSN, receivePsn);
    RawMemory.u32(attr + VerbsAbi.QpAttr.SQ_PSN, sendPsn);
    RawMemory.u32(attr + VerbsAbi.QpAttr.DEST_QP_NUM, destination);
    RawMemory.u32(attr + VerbsAbi.QpAttr.QP_ACCESS_FLAGS, access);
    RawMemory.u8(attr + VerbsAbi.QpAttr.MAX_RD_ATOMIC, reads);
    RawMemory.u8(attr + VerbsAbi.QpAttr.MAX_DEST_RD_ATOMIC, destinationReads);
    RawMemory.u8(attr + VerbsAbi.QpAttr.PORT_NUM, 1);
    RawMemory.u8(attr + VerbsAbi.QpAttr.TIMEOUT, timeout);
    RawMemory.u8(attr + VerbsAbi.QpAttr.RETRY_CNT, retries);
    RawMemory.u8(attr + VerbsAbi.QpAttr.RNR_RETRY, notReadyRetries);
    RawMemory.u32(initAttr + VerbsAbi.QpInitAttr.MAX_SEND_WR, maxSend);
    RawMemory.u32(initAttr + VerbsAbi.QpInitAttr.MAX_SEND_SGE, maxPieces);
    RawMemory.u32(initAttr + VerbsAbi.QpInitAttr.MAX_INLINE_DATA, maxInline);
    return 0;
  }
}
