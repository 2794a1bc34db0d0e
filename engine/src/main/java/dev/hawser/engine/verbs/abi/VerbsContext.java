/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * An open device: what can be asked of it, what can be made on it, and the calls of the hot path. Objects of libibverbs
 * are raw addresses here; their owner gives each back exactly once, in the order queue pair, memory, completion queue,
 * channel, protection domain, device.
 *
 * <p>Thread-safe, as libibverbs is.
 *
 * <p>Source: the manual pages that the methods name, of rdma-core 44.
 */
public final class VerbsContext implements AutoCloseable {
  /** No entry at this index of the GID table. */
  private static final int ENODATA = 61;

  private static final String LOCKED = "raise the limit for locked memory (ulimit -l unlimited) if it is ENOMEM";
  private static final String FEW_DESCRIPTORS = "raise the limit for open files (ulimit -n) if it is EMFILE";

  // Bound to the provider's functions: they differ from device to device, and never change once it is open.
  private final MethodHandle postSend;
  private final MethodHandle pollCq;
  private final MethodHandle reqNotifyCq;
  private final MethodHandle postSrqRecv;

  private final VerbsBindings b;
  private final String name;
  private final long address;

  private VerbsContext(VerbsLibrary library, String name, long address) {
    this.b = library.bindings();
    this.name = name;
    this.address = address;
    // int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
    this.postSend =
        operation(VerbsAbi.Context.OPS_POST_SEND, FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    // int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
    FunctionDescriptor poll = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG);
    this.pollCq =
        library.mayCallBack()
            ? operation(VerbsAbi.Context.OPS_POLL_CQ, poll)
            : operation(VerbsAbi.Context.OPS_POLL_CQ, poll, Linker.Option.critical(false));
    // int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
    this.reqNotifyCq =
        operation(VerbsAbi.Context.OPS_REQ_NOTIFY_CQ, FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT));
    // int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr);
    this.postSrqRecv =
        operation(
            VerbsAbi.Context.OPS_POST_SRQ_RECV, FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
  }

  private MethodHandle operation(int offset, FunctionDescriptor type, Linker.Option... options) {
    return NativeLibrary.at(MemorySegment.ofAddress(RawMemory.u64(address + offset)), type, options);
  }

  static VerbsContext open(VerbsLibrary library, VerbsDevices.Found device) {
    MemorySegment errno = Errno.capture();
    long context;
    try {
      context = (long) library.bindings().openDevice.invokeExact(errno, device.address());
    } catch (Throwable t) {
      throw unexpected(t);
    }
    if (context == 0) {
      int why = Errno.of(errno);
      throw new VerbsException(
          "ibv_open_device",
          device.name(),
          why,
          why == Errno.EACCES || why == Errno.EPERM
              ? "give this user access to /dev/infiniband/uverbs*"
              : why == Errno.ENOENT ? "/dev/infiniband/uverbs* is missing: load ib_uverbs, or pass the devices in"
                  : "");
    }
    return new VerbsContext(library, device.name(), context);
  }

  /** The device's name. */
  public String name() {
    return name;
  }

  /** The {@code struct ibv_context}. */
  public long address() {
    return address;
  }

  // ------------------------------------------------------------------ hot path

  /**
   * Posts a chain of work requests: 0, or the error number. May make a system call.
   *
   * @param badWr where the address of the first request that was not posted goes
   */
  public int postSend(long qp, long wr, long badWr) {
    try {
      return (int) postSend.invokeExact(qp, wr, badWr);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Takes at most {@code max} completions: how many, or a negative number. */
  public int pollCq(long cq, int max, long wc) {
    try {
      return (int) pollCq.invokeExact(cq, max, wc);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Asks for an event on the channel at the next completion: 0, or the error number. */
  public int requestNotification(long cq) {
    try {
      return (int) reqNotifyCq.invokeExact(cq, 0);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Posts a chain of receives to a shared receive queue: 0, or the error number. */
  public int postSrqReceive(long srq, long wr, long badWr) {
    try {
      return (int) postSrqRecv.invokeExact(srq, wr, badWr);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  // ------------------------------------------------------------------ questions

  /** What the device can do: ibv_query_device(3). */
  public DeviceAttributes query() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = arena.allocate(VerbsAbi.DeviceAttr.BYTES, Long.BYTES);
      check("ibv_query_device", name, (int) b.queryDevice.invokeExact(address, attr.address()));
      return DeviceAttributes.read(attr.address());
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** How a port is: ibv_query_port(3). */
  public PortAttributes queryPort(int port) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = arena.allocate(VerbsAbi.PortAttr.ROOM, Long.BYTES);
      check(
          "ibv_query_port",
          name + " port " + port,
          (int) b.queryPort.invokeExact(address, (byte) port, attr.address()));
      return PortAttributes.read(attr.address());
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /**
   * One entry of the GID table: ibv_query_gid_ex(3), and ibv_query_gid(3) where that is missing, which does not tell the
   * type.
   */
  public GidAttributes queryGid(int port, int index) {
    String target = name + " port " + port + " GID " + index;
    MemorySegment errno = Errno.capture();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment entry = arena.allocate(VerbsAbi.GidEntry.BYTES, Long.BYTES);
      MethodHandle extended = b.queryGidEx;
      int type = -1;
      if (extended != null) {
        int rc =
            (int) extended.invokeExact(
                address, port, index, entry.address(), 0, (long) VerbsAbi.GidEntry.BYTES);
        if (rc == ENODATA || rc == Errno.ENOENT) {
          return new GidAttributes(index, new byte[16], -1);
        }
        check("ibv_query_gid_ex", target, rc);
        type = entry.get(ValueLayout.JAVA_INT, VerbsAbi.GidEntry.GID_TYPE);
      } else {
        int rc = (int) b.queryGid.invokeExact(errno, address, (byte) port, index, entry.address());
        check("ibv_query_gid", target, rc == 0 ? 0 : Errno.of(errno));
      }
      return new GidAttributes(
          index, entry.asSlice(VerbsAbi.GidEntry.GID, 16).toArray(ValueLayout.JAVA_BYTE), type);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** The partition key at an index, in host order: ibv_query_pkey(3). */
  public int queryPkey(int port, int index) {
    MemorySegment errno = Errno.capture();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pkey = arena.allocate(2, 2);
      int rc = (int) b.queryPkey.invokeExact(errno, address, (byte) port, index, pkey.address());
      check("ibv_query_pkey", name + " port " + port + " index " + index, rc == 0 ? 0 : Errno.of(errno));
      return Short.reverseBytes(pkey.get(ValueLayout.JAVA_SHORT, 0)) & 0xffff;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  // ------------------------------------------------------------------ protection domains and memory

  /** Makes a protection domain: ibv_alloc_pd(3). */
  public long allocPd() {
    MemorySegment errno = Errno.capture();
    try {
      return made("ibv_alloc_pd", (long) b.allocPd.invokeExact(errno, address), errno, "");
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Gives a protection domain back. */
  public void deallocPd(long pd) {
    try {
      check("ibv_dealloc_pd", name, (int) b.deallocPd.invokeExact(pd));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Whether this libibverbs takes optional access flags, such as relaxed ordering. */
  public boolean takesOptionalAccess() {
    return b.regMrIova2 != null;
  }

  /** Whether this libibverbs can register a dma-buf. */
  public boolean takesDmaBufs() {
    return b.regDmabufMr != null;
  }

  /**
   * Registers memory: ibv_reg_mr(3), and {@code ibv_reg_mr_iova2} where there is one, which drops optional flags that the
   * kernel does not know.
   *
   * @param access of {@link VerbsAbi.AccessFlags}
   * @return the {@code struct ibv_mr}
   * @throws VerbsException with {@code ENOMEM} if the limit for locked memory is too low, among others
   */
  public long registerMemory(long pd, long start, long length, int access) {
    MemorySegment errno = Errno.capture();
    try {
      MethodHandle withFlags = b.regMrIova2;
      long mr =
          withFlags != null
              ? (long) withFlags.invokeExact(errno, pd, start, length, start, access)
              : (long) b.regMr.invokeExact(errno, pd, start, length, access & ~VerbsAbi.AccessFlags.RELAXED_ORDERING);
      if (mr == 0) {
        throw refusedMemory("ibv_reg_mr", start, length, Errno.of(errno));
      }
      return mr;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /**
   * Registers a dma-buf: ibv_reg_dmabuf_mr(3). The descriptor may be closed afterwards.
   *
   * @param offset where in the dma-buf the memory begins
   * @param iova the address by which peers name its first byte
   */
  public long registerDmaBuf(long pd, long offset, long length, long iova, int fd, int access) {
    MemorySegment errno = Errno.capture();
    try {
      MethodHandle register = b.regDmabufMr;
      if (register == null) {
        throw new VerbsException(
            "ibv_reg_dmabuf_mr", name, Errno.ENOSYS, "this libibverbs is older than rdma-core 34: update it");
      }
      long mr = (long) register.invokeExact(errno, pd, offset, length, iova, fd, access);
      if (mr == 0) {
        throw refusedMemory("ibv_reg_dmabuf_mr", iova, length, Errno.of(errno));
      }
      return mr;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  private VerbsException refusedMemory(String call, long start, long length, int errno) {
    String cure =
        switch (errno) {
          case Errno.ENOMEM ->
            "raise the limit for locked memory (ulimit -l unlimited, or LimitMEMLOCK=infinity in the "
                + "service's unit, or memlock in /etc/security/limits.conf)";
          case Errno.EFAULT -> "the memory is not mapped, or read-only";
          case Errno.EINVAL -> "the device does not take this range or these permissions";
          default -> "";
        };
    return new VerbsException(call, "%s (0x%x, %d bytes)".formatted(name, start, length), errno, cure);
  }

  /** Gives a registration back: 0, or the error number. When it returns 0 the device does not reach the memory any more. */
  public int deregister(long mr) {
    try {
      return (int) b.deregMr.invokeExact(mr);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  // ------------------------------------------------------------------ queues

  /** Makes a completion channel: ibv_create_comp_channel(3). */
  public long createChannel() {
    MemorySegment errno = Errno.capture();
    try {
      return made(
          "ibv_create_comp_channel", (long) b.createCompChannel.invokeExact(errno, address), errno, FEW_DESCRIPTORS);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Gives a channel back. */
  public int destroyChannel(long channel) {
    try {
      return (int) b.destroyCompChannel.invokeExact(channel);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** The channel's descriptor. */
  public static int channelFd(long channel) {
    return RawMemory.u32(channel + VerbsAbi.CompChannel.FD);
  }

  /** Makes a completion queue of at least {@code entries}: ibv_create_cq(3). */
  public long createCq(int entries, long channel, int vector) {
    MemorySegment errno = Errno.capture();
    try {
      return made(
          "ibv_create_cq", (long) b.createCq.invokeExact(errno, address, entries, 0L, channel, vector), errno, LOCKED);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Gives a completion queue back; all its events must have been acknowledged. */
  public int destroyCq(long cq) {
    try {
      return (int) b.destroyCq.invokeExact(cq);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Takes one event from a channel whose descriptor does not block: true if there was one. It must be acknowledged. */
  public boolean takeCqEvent(long channel, long scratch) {
    MemorySegment errno = Errno.capture();
    try {
      return (int) b.getCqEvent.invokeExact(errno, channel, scratch, scratch + Long.BYTES) == 0;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Acknowledges events of a completion queue. */
  public void ackCqEvents(long cq, int count) {
    try {
      b.ackCqEvents.invokeExact(cq, count);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** How many interrupt vectors completion queues can be spread over; at least 1. */
  public int completionVectors() {
    return Math.max(1, RawMemory.u32(address + VerbsAbi.Context.NUM_COMP_VECTORS));
  }

  /** Makes a shared receive queue: ibv_create_srq(3). */
  public long createSrq(long pd, int maxWr) {
    MemorySegment errno = Errno.capture();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = arena.allocate(VerbsAbi.SrqInitAttr.BYTES, Long.BYTES);
      attr.set(JAVA_INT, VerbsAbi.SrqInitAttr.MAX_WR, maxWr);
      attr.set(JAVA_INT, VerbsAbi.SrqInitAttr.MAX_SGE, 1);
      return made("ibv_create_srq", (long) b.createSrq.invokeExact(errno, pd, attr.address()), errno, LOCKED);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Gives a shared receive queue back. */
  public int destroySrq(long srq) {
    try {
      return (int) b.destroySrq.invokeExact(srq);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /**
   * Makes a reliable connected queue pair: ibv_create_qp(3).
   *
   * @param initAttr a {@code struct ibv_qp_init_attr}; its caps come back as granted
   * @return 0 if it failed, with the error number in this thread's {@link Errno#capture}
   */
  public long createQp(long pd, long initAttr) {
    MemorySegment errno = Errno.capture();
    try {
      return (long) b.createQp.invokeExact(errno, pd, initAttr);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Changes attributes of a queue pair, ibv_modify_qp(3): 0, or the error number. */
  public int modifyQp(long qp, long attr, int mask) {
    try {
      return (int) b.modifyQp.invokeExact(qp, attr, mask);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Reads attributes of a queue pair, ibv_query_qp(3): 0, or the error number. */
  public int queryQp(long qp, long attr, int mask, long initAttr) {
    try {
      return (int) b.queryQp.invokeExact(qp, attr, mask, initAttr);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Gives a queue pair back; waits until its asynchronous events have been acknowledged. 0, or the error number. */
  public int destroyQp(long qp) {
    try {
      return (int) b.destroyQp.invokeExact(qp);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A queue pair's number. */
  public static int qpNumber(long qp) {
    return RawMemory.u32(qp + VerbsAbi.Qp.QP_NUM);
  }

  // ------------------------------------------------------------------ asynchronous events

  /** The descriptor that becomes readable with an asynchronous event. */
  public int asyncFd() {
    return RawMemory.u32(address + VerbsAbi.Context.ASYNC_FD);
  }

  /**
   * Takes an asynchronous event, ibv_get_async_event(3): true if there was one. It must be acknowledged.
   *
   * @param event a {@code struct ibv_async_event}
   */
  public boolean takeAsyncEvent(long event) {
    MemorySegment errno = Errno.capture();
    try {
      return (int) b.getAsyncEvent.invokeExact(errno, address, event) == 0;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Acknowledges an asynchronous event. */
  public void ackAsyncEvent(long event) {
    try {
      b.ackAsyncEvent.invokeExact(event);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Closes the device. Everything that was made on it is given back before. */
  @Override
  public void close() {
    try {
      check("ibv_close_device", name, (int) b.closeDevice.invokeExact(address));
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  private long made(String call, long object, MemorySegment errno, String cure) {
    if (object == 0) {
      throw new VerbsException(call, name, Errno.of(errno), cure);
    }
    return object;
  }

  private static void check(String call, String target, int errno) {
    if (errno != 0) {
      throw new VerbsException(call, target, Math.abs(errno), "");
    }
  }
}
