/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;

/** Posted receives, of one queue pair or shared. */
final class FakeReceiveQueue {
  private static final int MAX_SGE = 4;
  private static final int SLOT = VerbsAbi.RecvWr.BYTES + MAX_SGE * VerbsAbi.Sge.BYTES;

  private final FakeDevice device;
  private final FakeDomain domain;
  private final long struct;
  private final int handle;
  private final int capacity;
  private final long ring;
  private long head;
  private long tail;
  private int uses;

  /** One that is shared if {@code struct} is not 0. */
  FakeReceiveQueue(FakeDomain domain, long struct, int capacity) {
    this.device = domain.device();
    this.domain = domain;
    this.struct = struct;
    this.capacity = capacity;
    this.ring = device.fabric().struct((long) Math.max(1, capacity) * SLOT);
    if (struct == 0) {
      handle = 0;
    } else {
      handle = device.receiveQueues().add(this);
      RawMemory.u64(struct + VerbsAbi.Srq.CONTEXT, domain.context());
      RawMemory.u64(struct + VerbsAbi.Srq.PD, domain.struct());
      RawMemory.u32(struct + VerbsAbi.Srq.HANDLE, handle);
    }
  }

  long struct() {
    return struct;
  }

  int handle() {
    return handle;
  }

  FakeDomain domain() {
    return domain;
  }

  int uses() {
    return uses;
  }

  void use(int change) {
    uses += change;
  }

  long posted() {
    return tail - head;
  }

  /** Posts a chain: 0, or the error number, and then where it stopped. */
  int post(long wr, long bad) {
    for (long at = wr; at != 0; at = RawMemory.u64(at + VerbsAbi.RecvWr.NEXT)) {
      int sges = RawMemory.u32(at + VerbsAbi.RecvWr.NUM_SGE);
      int errno = 0;
      if (tail - head >= capacity) {
        device.fabric()
            .violation("a receive queue of " + capacity + " entries on " + device.name() + " was overfilled");
        errno = FakeErrno.ENOMEM;
      } else if (sges < 0 || sges > MAX_SGE) {
        errno = FakeErrno.EINVAL;
      }
      if (errno != 0) {
        RawMemory.u64(bad, at);
        return errno;
      }
      long slot = ring + tail % capacity * SLOT;
      RawMemory.copy(at, slot, VerbsAbi.RecvWr.BYTES);
      RawMemory.copy(
          RawMemory.u64(at + VerbsAbi.RecvWr.SG_LIST),
          slot + VerbsAbi.RecvWr.BYTES,
          (long) sges * VerbsAbi.Sge.BYTES);
      tail++;
      device.countReceive();
    }
    return 0;
  }

  /** Takes one; 0 if there is none. It stands until the next is posted. */
  long take() {
    if (head == tail) {
      return 0;
    }
    return ring + head++ % capacity * SLOT;
  }

  static long id(long receive) {
    return RawMemory.u64(receive + VerbsAbi.RecvWr.WR_ID);
  }

  static int pieces(long receive) {
    return RawMemory.u32(receive + VerbsAbi.RecvWr.NUM_SGE);
  }

  static long piece(long receive, int index) {
    return receive + VerbsAbi.RecvWr.BYTES + (long) index * VerbsAbi.Sge.BYTES;
  }

  void clear() {
    head = tail;
  }
}
