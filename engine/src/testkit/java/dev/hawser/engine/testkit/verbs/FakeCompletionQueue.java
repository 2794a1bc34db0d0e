/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import org.jspecify.annotations.Nullable;

/** A completion queue. What has no room is lost, and counts as a violation. */
final class FakeCompletionQueue {
  private final FakeDevice device;
  private final long struct;
  private final int handle;
  private final @Nullable FakeChannel channel;
  private final int entries;
  private final long ring;
  private final FakeQueuePair[] owners;
  // Where the owner's send queue ends once this is taken; -1 for a receive.
  private final long[] retires;
  private long head;
  private long tail;
  private int uses;
  private boolean armed;
  private boolean armedForSolicited;
  private long unacknowledged;

  FakeCompletionQueue(
      FakeDevice device, long context, long struct, int entries, long queueContext, @Nullable FakeChannel channel) {
    this.device = device;
    this.struct = struct;
    this.entries = entries;
    this.channel = channel;
    this.ring = device.fabric().struct((long) entries * VerbsAbi.Wc.BYTES);
    this.owners = new FakeQueuePair[entries];
    this.retires = new long[entries];
    this.handle = device.completionQueues().add(this);
    RawMemory.u64(struct + VerbsAbi.Cq.CONTEXT, context);
    RawMemory.u64(struct + VerbsAbi.Cq.CHANNEL, channel == null ? 0 : channel.struct());
    RawMemory.u64(struct + VerbsAbi.Cq.CQ_CONTEXT, queueContext);
    RawMemory.u32(struct + VerbsAbi.Cq.HANDLE, handle);
    RawMemory.u32(struct + VerbsAbi.Cq.CQE, entries);
  }

  long struct() {
    return struct;
  }

  int handle() {
    return handle;
  }

  @Nullable
  FakeChannel channel() {
    return channel;
  }

  int uses() {
    return uses;
  }

  void use(int change) {
    uses += change;
  }

  long unacknowledged() {
    return unacknowledged;
  }

  void delivered(long change) {
    unacknowledged += change;
  }

  void add(
      FakeQueuePair owner,
      long retire,
      long id,
      int status,
      int opcode,
      int vendorError,
      int bytes,
      int immediate,
      int flags,
      boolean solicited) {
    if (tail - head >= entries) {
      device.fabric()
          .violation("a completion queue of " + entries + " entries on " + device.name() + " was overfilled");
      device.raise(VerbsAbi.EventType.CQ_ERR, struct);
      return;
    }
    int slot = (int) (tail % entries);
    long wc = ring + (long) slot * VerbsAbi.Wc.BYTES;
    RawMemory.u64(wc + VerbsAbi.Wc.WR_ID, id);
    RawMemory.u32(wc + VerbsAbi.Wc.STATUS, status);
    // After an error hardware leaves these undefined.
    boolean good = status == VerbsAbi.WcStatus.SUCCESS;
    RawMemory.u32(wc + VerbsAbi.Wc.OPCODE, good ? opcode : 0x5a5a5a5a);
    RawMemory.u32(wc + VerbsAbi.Wc.VENDOR_ERR, vendorError);
    RawMemory.u32(wc + VerbsAbi.Wc.BYTE_LEN, good ? bytes : 0x5a5a5a5a);
    RawMemory.u32(wc + VerbsAbi.Wc.IMM_DATA, immediate);
    RawMemory.u32(wc + VerbsAbi.Wc.QP_NUM, owner.number());
    RawMemory.u32(wc + VerbsAbi.Wc.SRC_QP, owner.peerNumber());
    RawMemory.u32(wc + VerbsAbi.Wc.WC_FLAGS, good ? flags : 0x5a5a5a5a);
    owners[slot] = owner;
    retires[slot] = retire;
    tail++;
    if (armed && (!armedForSolicited || solicited || !good)) {
      armed = false;
      if (channel != null) {
        channel.notify(this);
      }
    }
  }

  int poll(int max, long wc) {
    int taken = 0;
    int most = Math.min(max, device.mostPerPoll());
    while (taken < most && head < tail) {
      int slot = (int) (head % entries);
      RawMemory.copy(ring + (long) slot * VerbsAbi.Wc.BYTES, wc + (long) taken * VerbsAbi.Wc.BYTES, VerbsAbi.Wc.BYTES);
      if (retires[slot] >= 0) {
        owners[slot].retire(retires[slot]);
      }
      head++;
      taken++;
    }
    return taken;
  }

  void arm(boolean solicitedOnly) {
    armedForSolicited = solicitedOnly && (armedForSolicited || !armed);
    armed = true;
  }

  /** Forgets what a queue pair left, when that is destroyed. */
  void forget(FakeQueuePair gone) {
    long kept = head;
    for (long i = head; i < tail; i++) {
      int from = (int) (i % entries);
      if (owners[from] == gone) {
        continue;
      }
      int to = (int) (kept++ % entries);
      if (to != from) {
        RawMemory.copy(
            ring + (long) from * VerbsAbi.Wc.BYTES, ring + (long) to * VerbsAbi.Wc.BYTES, VerbsAbi.Wc.BYTES);
        owners[to] = owners[from];
        retires[to] = retires[from];
      }
    }
    tail = kept;
  }
}
