/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A device with one port. What a test sets holds for all that happens afterwards. Thread-safe.
 */
public final class FakeDevice {
  /** Of {@link #failNext}: whatever the request is. */
  public static final int ANY_OPCODE = -1;

  private static final long PORT = 1;
  private static final int GID_TABLE = 8;
  private static final byte[] NO_GID = {};
  private static final int VENDOR = 0xfa4e;

  private final Fabric fabric;
  private final String name;
  private final long guid;
  private final long struct;
  private final byte[][] gids = new byte[GID_TABLE][];
  private final int[] gidTypes = new int[GID_TABLE];
  private final Handles<FakeDomain> domains = new Handles<>();
  private final Handles<FakeMemory> memories = new Handles<>();
  private final Handles<FakeCompletionQueue> completionQueues = new Handles<>();
  private final Handles<FakeReceiveQueue> receiveQueues = new Handles<>();
  private final List<FakeContext> contexts = new ArrayList<>();
  private final Deque<Injection> injections = new ArrayDeque<>();

  private boolean reliable = true;
  private int vendor = VENDOR;
  private int maxSharedQueues = 1 << 10;
  private int portState = VerbsAbi.PortState.ACTIVE;
  private boolean cut;
  private boolean held;
  private long pace;
  private long credit;
  private long refilled;
  private boolean movesBytes = true;
  private int mtu = VerbsAbi.Mtu.BYTES_4096;
  private int mostPerPoll = Integer.MAX_VALUE;
  private int maxSend = 16_384;
  private int maxEntries = 65_536;
  private int maxInline = 220;
  private int maxReads = 16;
  private long maxRegion = Long.MAX_VALUE;
  private int refusedPostIn = -1;
  private int refusedPostErrno;

  private long doorbells;
  private long requests;
  private long signalled;
  private long inlined;
  private long receives;
  private long polls;
  private long completions;
  private long notifications;
  private long registrations;
  private long written;
  private long read;

  private record Injection(Predicate<FakeQueuePair> where, int opcode, int status, int vendorError) {}

  FakeDevice(Fabric fabric, String name, int number) {
    this.fabric = fabric;
    this.name = name;
    this.guid = 0x0200_00ff_fe00_0000L + number;
    this.struct = fabric.struct(VerbsAbi.Device.BYTES);
    RawMemory.u32(struct + VerbsAbi.Device.NODE_TYPE, 1);
    RawMemory.u32(struct + VerbsAbi.Device.TRANSPORT_TYPE, VerbsAbi.TransportType.IB);
    string(struct + VerbsAbi.Device.NAME, name);
    string(struct + VerbsAbi.Device.DEV_NAME, "uverbs" + number);
    Arrays.fill(gids, NO_GID);
    byte[] linkLocal = new byte[16];
    linkLocal[0] = (byte) 0xfe;
    linkLocal[1] = (byte) 0x80;
    linkLocal[15] = (byte) (number + 1);
    byte[] ipv4 = new byte[16];
    ipv4[10] = ipv4[11] = (byte) 0xff;
    ipv4[12] = 10;
    ipv4[13] = 77;
    ipv4[15] = (byte) (number + 1);
    gids[0] = linkLocal;
    gidTypes[0] = VerbsAbi.GidType.ROCE_V2;
    gids[1] = ipv4;
    gidTypes[1] = VerbsAbi.GidType.ROCE_V2;
  }

  private static void string(long to, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    for (int i = 0; i < bytes.length; i++) {
      RawMemory.u8(to + i, bytes[i]);
    }
  }

  // ------------------------------------------------------------------ what it is like

  /** Its name, for example {@code fake_0}. */
  public String name() {
    return name;
  }

  /** Its queue pairs that have not been destroyed, in the order in which they were made. */
  public List<FakeQueuePair> queuePairs() {
    synchronized (fabric) {
      return fabric.queuePairs().all().stream().filter(queuePair -> queuePair.device() == this).toList();
    }
  }

  /** What it was asked to do. */
  public Counters counters() {
    synchronized (fabric) {
      return new Counters(
          doorbells,
          requests,
          signalled,
          inlined,
          receives,
          polls,
          completions,
          notifications,
          registrations,
          memories.alive(),
          written,
          read);
    }
  }

  /** Makes it one without reliable connected queue pairs, as AWS EFA. */
  public FakeDevice withoutReliableConnections() {
    synchronized (fabric) {
      reliable = false;
      RawMemory.u32(struct + VerbsAbi.Device.NODE_TYPE, 7);
      RawMemory.u32(struct + VerbsAbi.Device.TRANSPORT_TYPE, VerbsAbi.TransportType.UNSPECIFIED);
      return this;
    }
  }

  /** Makes it one without shared receive queues. */
  public FakeDevice withoutSharedQueues() {
    synchronized (fabric) {
      maxSharedQueues = 0;
      return this;
    }
  }

  /** Gives it another vendor's number, from the PCI list. */
  public FakeDevice vendor(int id) {
    synchronized (fabric) {
      vendor = id;
      return this;
    }
  }

  /** Limits its queues: requests of a send queue, and entries of a completion queue. */
  public FakeDevice queues(int requestsEach, int entriesEach) {
    synchronized (fabric) {
      maxSend = requestsEach;
      maxEntries = entriesEach;
      return this;
    }
  }

  /** Limits what travels inline. */
  public FakeDevice inline(int bytes) {
    synchronized (fabric) {
      maxInline = bytes;
      return this;
    }
  }

  /** Limits the reads that a queue pair has under way. */
  public FakeDevice reads(int most) {
    synchronized (fabric) {
      maxReads = most;
      return this;
    }
  }

  /** Limits the length of a registration. */
  public FakeDevice maxRegionBytes(long bytes) {
    synchronized (fabric) {
      maxRegion = bytes;
      return this;
    }
  }

  /** The port's MTU, one of {@link VerbsAbi.Mtu}. */
  public FakeDevice mtu(int code) {
    synchronized (fabric) {
      mtu = code;
      return this;
    }
  }

  /** With false it does all but move the payload of RDMA: for measurements. */
  public FakeDevice movesBytes(boolean moves) {
    synchronized (fabric) {
      movesBytes = moves;
      return this;
    }
  }

  /** Carries so many bytes in a second, so that requests are under way for a while; 0 for as fast as it goes. */
  public FakeDevice pace(long bytesPerSecond) {
    synchronized (fabric) {
      pace = bytesPerSecond;
      credit = 0;
      refilled = System.nanoTime();
      return this;
    }
  }

  /** Sets an entry of the GID table; null for none. */
  public FakeDevice gid(int index, byte @Nullable [] gid, int type) {
    synchronized (fabric) {
      gids[index] = gid == null ? NO_GID : gid.clone();
      gidTypes[index] = type;
      fabric.changed();
      return this;
    }
  }

  // ------------------------------------------------------------------ what befalls it

  /** Takes the port down, and says so. What is posted finds no way, and fails when its retries end. */
  public void portDown() {
    synchronized (fabric) {
      portState = VerbsAbi.PortState.DOWN;
      fabric.changed();
      raise(VerbsAbi.EventType.PORT_ERR, PORT);
    }
  }

  /** Takes it up again. */
  public void portUp() {
    synchronized (fabric) {
      portState = VerbsAbi.PortState.ACTIVE;
      fabric.changed();
      raise(VerbsAbi.EventType.PORT_ACTIVE, PORT);
    }
  }

  /** Loses all that it sends and receives, and says nothing. */
  public void cut() {
    synchronized (fabric) {
      cut = true;
      fabric.changed();
    }
  }

  /** Ends {@link #cut}. */
  public void mend() {
    synchronized (fabric) {
      cut = false;
      fabric.changed();
    }
  }

  /** Carries out nothing that is posted from now on, until {@link #release}. */
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

  /** Returns at most so many completions from one poll, whatever is asked for. */
  public void shortPolls(int most) {
    synchronized (fabric) {
      mostPerPoll = most;
    }
  }

  /**
   * Lets the next request end badly. It is not carried out; its queue pair goes to the error state.
   *
   * @param opcode one of {@link VerbsAbi.Opcode}, or {@link #ANY_OPCODE}
   * @param status one of {@link VerbsAbi.WcStatus}, but success
   */
  public void failNext(int opcode, int status, int vendorError) {
    failNext(opcode, status, vendorError, queuePair -> true);
  }

  /** As {@link #failNext(int, int, int)}, on certain queue pairs only. */
  public void failNext(int opcode, int status, int vendorError, Predicate<FakeQueuePair> where) {
    if (status == VerbsAbi.WcStatus.SUCCESS) {
      throw new IllegalArgumentException("success is no failure");
    }
    synchronized (fabric) {
      injections.add(new Injection(where, opcode, status, vendorError));
    }
  }

  /** Refuses the post of a request: that which comes after so many others. */
  public void refusePost(int after, int errno) {
    synchronized (fabric) {
      refusedPostIn = after;
      refusedPostErrno = errno;
    }
  }

  /** Tells every process that has it open of an event that concerns the port or the device. */
  public void event(int type) {
    synchronized (fabric) {
      raise(type, PORT);
    }
  }

  // ------------------------------------------------------------------ under the fabric's lock

  Fabric fabric() {
    return fabric;
  }

  long struct() {
    return struct;
  }

  long guid() {
    return guid;
  }

  boolean reliable() {
    return reliable;
  }

  Handles<FakeDomain> domains() {
    return domains;
  }

  Handles<FakeMemory> memories() {
    return memories;
  }

  Handles<FakeCompletionQueue> completionQueues() {
    return completionQueues;
  }

  Handles<FakeReceiveQueue> receiveQueues() {
    return receiveQueues;
  }

  List<FakeContext> contexts() {
    return contexts;
  }

  boolean carries() {
    return portState == VerbsAbi.PortState.ACTIVE && !cut;
  }

  boolean isHeld() {
    return held || (pace > 0 && credit <= 0);
  }

  /** Lets as many bytes through as the time since the last call allows. */
  void refill() {
    if (pace > 0) {
      long now = System.nanoTime();
      credit = Math.min(pace / 500, credit + (long) ((now - refilled) * (pace / 1e9)));
      refilled = now;
    }
  }

  boolean movesBytes() {
    return movesBytes;
  }

  int mtu() {
    return mtu;
  }

  int mostPerPoll() {
    return mostPerPoll;
  }

  int maxSend() {
    return maxSend;
  }

  int maxEntries() {
    return maxEntries;
  }

  int maxInline() {
    return maxInline;
  }

  int maxReads() {
    return maxReads;
  }

  long maxRegion() {
    return maxRegion;
  }

  long maxMessage() {
    return 1L << 31;
  }

  boolean hasGid(byte[] gid) {
    for (byte[] own : gids) {
      if (Arrays.equals(own, gid)) {
        return true;
      }
    }
    return false;
  }

  byte @Nullable [] gidAt(int index) {
    return index < 0 || index >= GID_TABLE || gids[index].length == 0 ? null : gids[index];
  }

  int gidTypeAt(int index) {
    return gidTypes[index];
  }

  /** The status in the lower half and the vendor's error in the upper; 0 if nothing was injected for it. */
  long injected(FakeQueuePair queuePair, int opcode) {
    Injection next = injections.peek();
    if (next == null
        || (next.opcode != ANY_OPCODE && next.opcode != opcode)
        || !next.where.test(queuePair)) {
      return 0;
    }
    injections.remove();
    return (long) next.vendorError << 32 | next.status;
  }

  int refusalOfPost() {
    if (refusedPostIn < 0 || refusedPostIn-- > 0) {
      return 0;
    }
    return refusedPostErrno;
  }

  /** Tells all that have it open, or, where the element is an object, the one that made that. */
  void raise(int type, long element) {
    for (FakeContext context : contexts) {
      if (element == PORT || context.struct() == RawMemory.u64(element)) {
        context.tell(type, element);
      }
    }
  }

  void countDoorbell() {
    doorbells++;
  }

  void countRequest(int flags) {
    requests++;
    if ((flags & VerbsAbi.SendFlags.SIGNALED) != 0) {
      signalled++;
    }
    if ((flags & VerbsAbi.SendFlags.INLINE) != 0) {
      inlined++;
    }
  }

  void countReceive() {
    receives++;
  }

  void countPoll(int taken) {
    polls++;
    completions += taken;
  }

  void countNotification() {
    notifications++;
  }

  void countRegistration() {
    registrations++;
  }

  void countWritten(long bytes) {
    written += bytes;
    credit -= bytes;
  }

  void countRead(long bytes) {
    read += bytes;
    credit -= bytes;
  }

  int describe(long attr) {
    string(attr + VerbsAbi.DeviceAttr.FW_VER, "1.0");
    RawMemory.u64(attr + VerbsAbi.DeviceAttr.NODE_GUID, Long.reverseBytes(guid));
    RawMemory.u64(attr + VerbsAbi.DeviceAttr.MAX_MR_SIZE, maxRegion);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.VENDOR_ID, vendor);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_QP, 1 << 16);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_QP_WR, maxSend);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_SGE, 30);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_CQE, maxEntries);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_MR, 1 << 20);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_QP_RD_ATOM, maxReads);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_QP_INIT_RD_ATOM, maxReads);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_SRQ, maxSharedQueues);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_SRQ_WR, 32_768);
    RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_SRQ_SGE, 4);
    RawMemory.u16(attr + VerbsAbi.DeviceAttr.MAX_PKEYS, 1);
    RawMemory.u8(attr + VerbsAbi.DeviceAttr.PHYS_PORT_CNT, 1);
    return 0;
  }

  int describePort(long attr) {
    RawMemory.u32(attr + VerbsAbi.PortAttr.STATE, portState);
    RawMemory.u32(attr + VerbsAbi.PortAttr.MAX_MTU, VerbsAbi.Mtu.BYTES_4096);
    RawMemory.u32(attr + VerbsAbi.PortAttr.ACTIVE_MTU, mtu);
    RawMemory.u32(attr + VerbsAbi.PortAttr.GID_TBL_LEN, GID_TABLE);
    RawMemory.u32(attr + VerbsAbi.PortAttr.MAX_MSG_SZ, (int) maxMessage());
    RawMemory.u16(attr + VerbsAbi.PortAttr.PKEY_TBL_LEN, 1);
    RawMemory.u16(attr + VerbsAbi.PortAttr.LID, 0);
    RawMemory.u8(attr + VerbsAbi.PortAttr.ACTIVE_WIDTH, 2);
    RawMemory.u8(attr + VerbsAbi.PortAttr.ACTIVE_SPEED, 128);
    RawMemory.u8(attr + VerbsAbi.PortAttr.PHYS_STATE, portState == VerbsAbi.PortState.ACTIVE ? 5 : 2);
    RawMemory.u8(attr + VerbsAbi.PortAttr.LINK_LAYER, VerbsAbi.LinkLayer.ETHERNET);
    return 0;
  }

  @Override
  public String toString() {
    return name;
  }
}
