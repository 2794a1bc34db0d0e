/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsContext;
import dev.hawser.engine.verbs.abi.VerbsDevices;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** One end of a connection that is made by hand, with all that belongs to it. */
final class RawEnd implements AutoCloseable {
  static final int DEPTH = 16;
  static final int MOST = 1024;
  static final int BYTES = 64 << 10;
  private static final int ALL =
      VerbsAbi.AccessFlags.LOCAL_WRITE | VerbsAbi.AccessFlags.REMOTE_WRITE | VerbsAbi.AccessFlags.REMOTE_READ;

  final Arena arena = Arena.ofShared();
  final VerbsContext context;
  final long pd;
  final long channel;
  final long cq;
  final long srq;
  final long qp;
  final MemorySegment memory = arena.allocate(BYTES, 4096);
  final long mr;
  final MemorySegment wc = arena.allocate(64L * VerbsAbi.Wc.BYTES, 8);
  private final MemorySegment wrs = arena.allocate(MOST * (long) (VerbsAbi.SendWr.BYTES + VerbsAbi.Sge.BYTES), 8);
  private final MemorySegment bad = arena.allocate(8, 8);
  private final MemorySegment attr = arena.allocate(VerbsAbi.QpAttr.BYTES, 8);

  RawEnd(VerbsLibrary library, int device) {
    this(library, device, DEPTH);
  }

  RawEnd(VerbsLibrary library, int device, int depth) {
    try (VerbsDevices devices = VerbsDevices.list(library)) {
      context = devices.open(devices.found().get(device));
    }
    pd = context.allocPd();
    channel = context.createChannel();
    cq = context.createCq(64, channel, 0);
    srq = context.createSrq(pd, DEPTH);
    mr = context.registerMemory(pd, memory.address(), BYTES, ALL);
    MemorySegment init = arena.allocate(VerbsAbi.QpInitAttr.BYTES, 8);
    long at = init.address();
    RawMemory.u64(at + VerbsAbi.QpInitAttr.SEND_CQ, cq);
    RawMemory.u64(at + VerbsAbi.QpInitAttr.RECV_CQ, cq);
    RawMemory.u64(at + VerbsAbi.QpInitAttr.SRQ, srq);
    RawMemory.u32(at + VerbsAbi.QpInitAttr.MAX_SEND_WR, depth);
    RawMemory.u32(at + VerbsAbi.QpInitAttr.MAX_SEND_SGE, 1);
    RawMemory.u32(at + VerbsAbi.QpInitAttr.MAX_INLINE_DATA, 64);
    RawMemory.u32(at + VerbsAbi.QpInitAttr.QP_TYPE, VerbsAbi.QpType.RC);
    qp = context.createQp(pd, at);
  }

  int number() {
    return VerbsContext.qpNumber(qp);
  }

  int lkey() {
    return RawMemory.u32(mr + VerbsAbi.Mr.LKEY);
  }

  int rkey() {
    return RawMemory.u32(mr + VerbsAbi.Mr.RKEY);
  }

  /** Brings it up towards the other end, with short retries: 0, or the error number of the step that failed. */
  int connect(RawEnd peer) {
    long at = attr.address();
    attr.fill((byte) 0);
    RawMemory.u32(at + VerbsAbi.QpAttr.QP_STATE, VerbsAbi.QpState.INIT);
    RawMemory.u8(at + VerbsAbi.QpAttr.PORT_NUM, 1);
    RawMemory.u32(at + VerbsAbi.QpAttr.QP_ACCESS_FLAGS, ALL);
    int errno =
        context.modifyQp(
            qp,
            at,
            VerbsAbi.QpMask.STATE
                | VerbsAbi.QpMask.PKEY_INDEX
                | VerbsAbi.QpMask.PORT
                | VerbsAbi.QpMask.ACCESS_FLAGS);
    if (errno != 0) {
      return errno;
    }
    byte[] gid = peer.context.queryGid(1, 1).gid();
    for (int i = 0; i < gid.length; i++) {
      RawMemory.u8(at + VerbsAbi.QpAttr.DGID + i, gid[i]);
    }
    RawMemory.u32(at + VerbsAbi.QpAttr.QP_STATE, VerbsAbi.QpState.RTR);
    RawMemory.u8(at + VerbsAbi.QpAttr.IS_GLOBAL, 1);
    RawMemory.u8(at + VerbsAbi.QpAttr.SGID_INDEX, 1);
    RawMemory.u8(at + VerbsAbi.QpAttr.HOP_LIMIT, 64);
    RawMemory.u8(at + VerbsAbi.QpAttr.AH_PORT_NUM, 1);
    RawMemory.u32(at + VerbsAbi.QpAttr.PATH_MTU, VerbsAbi.Mtu.BYTES_1024);
    RawMemory.u32(at + VerbsAbi.QpAttr.DEST_QP_NUM, peer.number());
    RawMemory.u32(at + VerbsAbi.QpAttr.RQ_PSN, 7);
    RawMemory.u8(at + VerbsAbi.QpAttr.MAX_DEST_RD_ATOMIC, 4);
    RawMemory.u8(at + VerbsAbi.QpAttr.MIN_RNR_TIMER, 1);
    errno =
        context.modifyQp(
            qp,
            at,
            VerbsAbi.QpMask.STATE
                | VerbsAbi.QpMask.AV
                | VerbsAbi.QpMask.PATH_MTU
                | VerbsAbi.QpMask.DEST_QPN
                | VerbsAbi.QpMask.RQ_PSN
                | VerbsAbi.QpMask.MAX_DEST_RD_ATOMIC
                | VerbsAbi.QpMask.MIN_RNR_TIMER);
    if (errno != 0) {
      return errno;
    }
    RawMemory.u32(at + VerbsAbi.QpAttr.QP_STATE, VerbsAbi.QpState.RTS);
    RawMemory.u32(at + VerbsAbi.QpAttr.SQ_PSN, 7);
    RawMemory.u8(at + VerbsAbi.QpAttr.TIMEOUT, 5);
    RawMemory.u8(at + VerbsAbi.QpAttr.RETRY_CNT, 1);
    RawMemory.u8(at + VerbsAbi.QpAttr.RNR_RETRY, 1);
    RawMemory.u8(at + VerbsAbi.QpAttr.MAX_RD_ATOMIC, 4);
    return context.modifyQp(
        qp,
        at,
        VerbsAbi.QpMask.STATE
            | VerbsAbi.QpMask.TIMEOUT
            | VerbsAbi.QpMask.RETRY_CNT
            | VerbsAbi.QpMask.RNR_RETRY
            | VerbsAbi.QpMask.SQ_PSN
            | VerbsAbi.QpMask.MAX_QP_RD_ATOMIC);
  }

  void toError() {
    RawMemory.u32(attr.address() + VerbsAbi.QpAttr.QP_STATE, VerbsAbi.QpState.ERR);
    int errno = context.modifyQp(qp, attr.address(), VerbsAbi.QpMask.STATE);
    if (errno != 0) {
      throw new AssertionError("modify_qp to ERR: " + errno);
    }
  }

  /** Prepares the request with this number, alone or behind the one before. */
  long request(int index, int opcode, int flags, long bytes, long remote, int rkey) {
    return request(index, opcode, flags, bytes, remote, rkey, lkey());
  }

  long request(int index, int opcode, int flags, long bytes, long remote, int rkey, int lkey) {
    long wr = wrs.address() + (long) index * (VerbsAbi.SendWr.BYTES + VerbsAbi.Sge.BYTES);
    long sge = wr + VerbsAbi.SendWr.BYTES;
    RawMemory.u64(sge + VerbsAbi.Sge.ADDR, memory.address());
    RawMemory.u32(sge + VerbsAbi.Sge.LENGTH, (int) bytes);
    RawMemory.u32(sge + VerbsAbi.Sge.LKEY, lkey);
    RawMemory.u64(wr + VerbsAbi.SendWr.WR_ID, 1000 + index);
    RawMemory.u64(wr + VerbsAbi.SendWr.NEXT, 0);
    RawMemory.u64(wr + VerbsAbi.SendWr.SG_LIST, sge);
    RawMemory.u32(wr + VerbsAbi.SendWr.NUM_SGE, bytes == 0 ? 0 : 1);
    RawMemory.u32(wr + VerbsAbi.SendWr.OPCODE, opcode);
    RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS, flags);
    RawMemory.u32(wr + VerbsAbi.SendWr.IMM_DATA, Integer.reverseBytes(77));
    RawMemory.u64(wr + VerbsAbi.SendWr.REMOTE_ADDR, remote);
    RawMemory.u32(wr + VerbsAbi.SendWr.RKEY, rkey);
    if (index > 0) {
      RawMemory.u64(wr - (VerbsAbi.SendWr.BYTES + VerbsAbi.Sge.BYTES) + VerbsAbi.SendWr.NEXT, wr);
    }
    return wr;
  }

  /** Posts the chain that begins with request 0. */
  int post() {
    return context.postSend(qp, wrs.address(), bad.address());
  }

  long bad() {
    return RawMemory.u64(bad.address());
  }

  int receive(long id, int offset, int bytes) {
    try (Arena arenaOfCall = Arena.ofConfined()) {
      long wr = arenaOfCall.allocate(VerbsAbi.RecvWr.BYTES + VerbsAbi.Sge.BYTES, 8).address();
      long sge = wr + VerbsAbi.RecvWr.BYTES;
      RawMemory.u64(sge + VerbsAbi.Sge.ADDR, memory.address() + offset);
      RawMemory.u32(sge + VerbsAbi.Sge.LENGTH, bytes);
      RawMemory.u32(sge + VerbsAbi.Sge.LKEY, lkey());
      RawMemory.u64(wr + VerbsAbi.RecvWr.WR_ID, id);
      RawMemory.u64(wr + VerbsAbi.RecvWr.SG_LIST, sge);
      RawMemory.u32(wr + VerbsAbi.RecvWr.NUM_SGE, 1);
      return context.postSrqReceive(srq, wr, bad.address());
    }
  }

  int poll() {
    return context.pollCq(cq, 64, wc.address());
  }

  /** Polls until something is there; fails after some seconds. */
  int await() {
    long end = System.nanoTime() + 10_000_000_000L;
    int taken;
    do {
      taken = poll();
      if (System.nanoTime() - end > 0) {
        throw new AssertionError("nothing completes");
      }
    } while (taken == 0);
    return taken;
  }

  int status(int index) {
    return RawMemory.u32(wc.address() + (long) index * VerbsAbi.Wc.BYTES + VerbsAbi.Wc.STATUS);
  }

  long id(int index) {
    return RawMemory.u64(wc.address() + (long) index * VerbsAbi.Wc.BYTES + VerbsAbi.Wc.WR_ID);
  }

  int field(int index, int offset) {
    return RawMemory.u32(wc.address() + (long) index * VerbsAbi.Wc.BYTES + offset);
  }

  @Override
  public void close() {
    int errno =
        context.destroyQp(qp)
            | context.deregister(mr)
            | context.destroySrq(srq)
            | context.destroyCq(cq)
            | context.destroyChannel(channel);
    if (errno != 0) {
      throw new AssertionError("something could not be given back: " + errno);
    }
    context.deallocPd(pd);
    context.close();
    arena.close();
  }
}
