/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.PathSetupException;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsContext;
import dev.hawser.engine.verbs.abi.VerbsException;
import dev.hawser.memory.ffi.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.security.SecureRandom;

/**
 * A reliable connected queue pair with its completion queue and channel. Its states follow InfiniBand's: it is made in INIT,
 * {@link #connect} takes it to RTS, {@link #error} to ERR.
 *
 * <p>Source: ibv_create_qp(3), ibv_modify_qp(3).
 */
final class QueuePair implements AutoCloseable {
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final int HOP_LIMIT = 64;
  private static final int FEWEST_REQUESTS = 128;

  private final VerbsRail rail;
  private final VerbsContext context;
  private final boolean initiator;
  private final int psn = RANDOM.nextInt(1 << 24);
  private final int mtu;
  private final int depth;
  private long channel;
  private long cq;
  private long qp;
  private int maxInline;

  /**
   * Makes one, in INIT.
   *
   * @throws PathSetupException if the device refuses; the message says what
   */
  QueuePair(VerbsRail rail, boolean initiator, int wantedDepth) {
    this.rail = rail;
    this.context = rail.device().context();
    this.initiator = initiator;
    this.mtu = rail.mtu();
    int most = rail.device().attributes().maxWorkRequests();
    this.depth = most > 0 ? Math.min(wantedDepth, most) : wantedDepth;
    if (depth < FEWEST_REQUESTS) {
      throw new PathSetupException(
          "rail %s: its device takes %d work requests, at least %d are needed"
              .formatted(rail.rail().name(), most, FEWEST_REQUESTS));
    }
    try {
      channel = context.createChannel();
      int entries = depth + rail.receives().slots() + 1;
      int allowed = rail.device().attributes().maxCqEntries();
      if (allowed > 0 && entries > allowed) {
        throw new PathSetupException(
            """
                rail %s: a completion queue needs %d entries, its device has %d: lower verbs.send-queue and \
                verbs.receive-buffers"""
                .formatted(rail.rail().name(), entries, allowed));
      }
      cq = context.createCq(entries, channel, rail.device().nextVector());
      qp = create();
      initialise();
    } catch (VerbsException e) {
      close();
      throw new PathSetupException("rail " + rail.rail().name() + ": " + e.getMessage(), e);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private long create() {
    int[] lengths = {rail.settings().inlineBytes(), 128, 64, 0};
    int errno = 0;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = arena.allocate(VerbsAbi.QpInitAttr.BYTES, Long.BYTES);
      for (int inline : lengths) {
        if (inline > rail.settings().inlineBytes()) {
          continue;
        }
        attr.fill((byte) 0);
        attr.set(ValueLayout.JAVA_LONG, VerbsAbi.QpInitAttr.SEND_CQ, cq);
        attr.set(ValueLayout.JAVA_LONG, VerbsAbi.QpInitAttr.RECV_CQ, cq);
        attr.set(ValueLayout.JAVA_LONG, VerbsAbi.QpInitAttr.SRQ, rail.receives().address());
        attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpInitAttr.MAX_SEND_WR, depth);
        attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpInitAttr.MAX_SEND_SGE, 1);
        attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpInitAttr.MAX_INLINE_DATA, inline);
        attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpInitAttr.QP_TYPE, VerbsAbi.QpType.RC);
        long made = context.createQp(rail.device().pd(), attr.address());
        if (made != 0) {
          maxInline = Math.min(inline, attr.get(ValueLayout.JAVA_INT, VerbsAbi.QpInitAttr.MAX_INLINE_DATA));
          return made;
        }
        errno = Errno.of(Errno.capture());
      }
    }
    throw new VerbsException(
        "ibv_create_qp",
        rail.describe(),
        errno,
        errno == Errno.ENOMEM
            ? "raise the limit for locked memory (ulimit -l unlimited), or lower verbs.send-queue"
            : "the device has no reliable connected queue pairs of " + depth + " requests with a shared receive queue");
  }

  private void initialise() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = attributes(arena, VerbsAbi.QpState.INIT);
      attr.set(ValueLayout.JAVA_SHORT, VerbsAbi.QpAttr.PKEY_INDEX, (short) rail.pkeyIndex());
      attr.set(ValueLayout.JAVA_BYTE, VerbsAbi.QpAttr.PORT_NUM, (byte) rail.port());
      // Nobody reads or writes an initiator's memory through its own queue pair.
      attr.set(
          ValueLayout.JAVA_INT,
          VerbsAbi.QpAttr.QP_ACCESS_FLAGS,
          initiator
              ? VerbsAbi.AccessFlags.LOCAL_WRITE
              : VerbsAbi.AccessFlags.LOCAL_WRITE
                  | VerbsAbi.AccessFlags.REMOTE_WRITE
                  | VerbsAbi.AccessFlags.REMOTE_READ);
      modify(
          attr,
          VerbsAbi.QpMask.STATE | VerbsAbi.QpMask.PKEY_INDEX | VerbsAbi.QpMask.PORT | VerbsAbi.QpMask.ACCESS_FLAGS,
          "INIT",
          "");
    }
  }

  /** What the other end is told. */
  QpCard card() {
    return new QpCard(
        mtu,
        rail.attributes().lid(),
        number(),
        psn,
        reads(rail.device().attributes().maxInitiatedReads()),
        reads(rail.device().attributes().maxReads()),
        rail.gid(),
        rail.device().id());
  }

  private int reads(int device) {
    return Math.max(1, Math.min(rail.settings().maxReads(), Math.min(device, 255)));
  }

  /**
   * Connects it to the other end's queue pair.
   *
   * @throws PathSetupException if the device refuses, for example because no route leads to the peer's GID
   */
  void connect(QpCard peer, String where) {
    VerbsSettings settings = rail.settings();
    int common = Math.min(mtu, peer.mtu());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = attributes(arena, VerbsAbi.QpState.RTR);
      attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpAttr.PATH_MTU, common);
      attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpAttr.DEST_QP_NUM, peer.qpNumber());
      attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpAttr.RQ_PSN, peer.psn());
      set(attr, VerbsAbi.QpAttr.MAX_DEST_RD_ATOMIC,
          initiator ? 1 : Math.min(card().servesReads(), peer.initiatesReads()));
      set(attr, VerbsAbi.QpAttr.MIN_RNR_TIMER, settings.minRnrTimer());
      boolean global = rail.attributes().ethernet() || !sameSubnet(peer);
      set(attr, VerbsAbi.QpAttr.IS_GLOBAL, global ? 1 : 0);
      if (global) {
        MemorySegment.copy(peer.gid().gid(), 0, attr, ValueLayout.JAVA_BYTE, VerbsAbi.QpAttr.DGID, 16);
        set(attr, VerbsAbi.QpAttr.SGID_INDEX, rail.gid().index());
        set(attr, VerbsAbi.QpAttr.HOP_LIMIT, HOP_LIMIT);
        set(attr, VerbsAbi.QpAttr.TRAFFIC_CLASS, settings.trafficClass());
      }
      attr.set(ValueLayout.JAVA_SHORT, VerbsAbi.QpAttr.DLID, (short) peer.lid());
      set(attr, VerbsAbi.QpAttr.SL, settings.serviceLevel());
      set(attr, VerbsAbi.QpAttr.AH_PORT_NUM, rail.port());
      modify(
          attr,
          VerbsAbi.QpMask.STATE
              | VerbsAbi.QpMask.AV
              | VerbsAbi.QpMask.PATH_MTU
              | VerbsAbi.QpMask.DEST_QPN
              | VerbsAbi.QpMask.RQ_PSN
              | VerbsAbi.QpMask.MAX_DEST_RD_ATOMIC
              | VerbsAbi.QpMask.MIN_RNR_TIMER,
          "RTR",
          where);
      MemorySegment ready = attributes(arena, VerbsAbi.QpState.RTS);
      ready.set(ValueLayout.JAVA_INT, VerbsAbi.QpAttr.SQ_PSN, psn);
      set(ready, VerbsAbi.QpAttr.TIMEOUT, settings.timeout());
      set(ready, VerbsAbi.QpAttr.RETRY_CNT, settings.retryCount());
      set(ready, VerbsAbi.QpAttr.RNR_RETRY, settings.rnrRetry());
      set(ready, VerbsAbi.QpAttr.MAX_RD_ATOMIC, initiator ? Math.min(card().initiatesReads(), peer.servesReads()) : 1);
      modify(
          ready,
          VerbsAbi.QpMask.STATE
              | VerbsAbi.QpMask.TIMEOUT
              | VerbsAbi.QpMask.RETRY_CNT
              | VerbsAbi.QpMask.RNR_RETRY
              | VerbsAbi.QpMask.SQ_PSN
              | VerbsAbi.QpMask.MAX_QP_RD_ATOMIC,
          "RTS",
          where);
    }
  }

  private boolean sameSubnet(QpCard peer) {
    byte[] ours = rail.gid().gid();
    byte[] theirs = peer.gid().gid();
    for (int i = 0; i < 8; i++) {
      if (ours[i] != theirs[i]) {
        return false;
      }
    }
    return true;
  }

  private static void set(MemorySegment attr, int offset, int value) {
    attr.set(ValueLayout.JAVA_BYTE, offset, (byte) value);
  }

  private static MemorySegment attributes(Arena arena, int state) {
    MemorySegment attr = arena.allocate(VerbsAbi.QpAttr.BYTES, Long.BYTES);
    attr.set(ValueLayout.JAVA_INT, VerbsAbi.QpAttr.QP_STATE, state);
    return attr;
  }

  private static final int ETIMEDOUT = 110;
  private static final int ENETUNREACH = 101;
  private static final int EHOSTUNREACH = 113;

  private void modify(MemorySegment attr, int mask, String state, String where) {
    int errno = context.modifyQp(qp, attr.address(), mask);
    if (errno == 0) {
      return;
    }
    String cure =
        switch (errno) {
          case ETIMEDOUT, EHOSTUNREACH, ENETUNREACH ->
            "the peer's GID does not resolve: check the route and the neighbour (ip route get, ip neigh), and the GID index";
          case Errno.EINVAL -> "check the GID index, the MTU and the port's state (ibv_devinfo -v)";
          default -> "";
        };
    throw new PathSetupException(
        "rail %s: ibv_modify_qp to %s failed: %s%s%s"
            .formatted(
                rail.describe(),
                state,
                Errno.describe(errno),
                where.isEmpty() ? "" : " (" + where + ")",
                cure.isEmpty() ? "" : "; " + cure));
  }

  /** Takes it to ERR: what is under way is flushed. 0, or the error number. */
  int error() {
    try (Arena arena = Arena.ofConfined()) {
      return context.modifyQp(qp, attributes(arena, VerbsAbi.QpState.ERR).address(), VerbsAbi.QpMask.STATE);
    }
  }

  long address() {
    return qp;
  }

  long cq() {
    return cq;
  }

  long channel() {
    return channel;
  }

  int number() {
    return VerbsContext.qpNumber(qp);
  }

  int depth() {
    return depth;
  }

  int maxInline() {
    return maxInline;
  }

  /** The path's MTU in bytes. */
  int mtuBytes(QpCard peer) {
    return 128 << Math.min(mtu, peer.mtu());
  }

  /** Whether the queue pair still exists. */
  boolean isAlive() {
    return qp != 0;
  }

  /** Ends the queue pair only; its completion queue can be polled no more for it. Idempotent. */
  void destroy() {
    if (qp != 0) {
      check("ibv_destroy_qp", context.destroyQp(qp));
      qp = 0;
    }
  }

  /** Gives everything back. Its events must have been acknowledged. Idempotent. */
  @Override
  public void close() {
    destroy();
    if (cq != 0) {
      check("ibv_destroy_cq", context.destroyCq(cq));
      cq = 0;
    }
    if (channel != 0) {
      check("ibv_destroy_comp_channel", context.destroyChannel(channel));
      channel = 0;
    }
  }

  private void check(String call, int errno) {
    if (errno != 0) {
      throw new VerbsException(call, rail.describe(), errno, "");
    }
  }
}
