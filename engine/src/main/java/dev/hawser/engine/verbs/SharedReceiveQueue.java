/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.net.NativeBlock;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Where the messages of all of a rail's paths arrive. A slot belongs to the device until its completion is polled, then to
 * the connection that polled it, which gives it back with {@link #give}; so connections of different owners share the queue
 * without a lock of ours. libibverbs guards the queue itself.
 */
final class SharedReceiveQueue implements AutoCloseable {
  /** The longest message: a notification of 4 KiB with its header and the names of all path generations. */
  static final int SLOT_BYTES = 4608;

  private static final int BAD_WR_BYTES = 64;

  private final VerbsDevice device;
  private final int slots;
  private final NativeBlock block;
  private final long requests;
  private final long region;
  private final long srq;
  private final AtomicInteger posted = new AtomicInteger();

  SharedReceiveQueue(VerbsDevice device, int wanted) {
    this.device = device;
    int most = device.attributes().maxSharedRequests();
    this.slots = most > 0 ? Math.min(wanted, most) : wanted;
    long messages = (long) slots * SLOT_BYTES;
    long requestBytes = (long) slots * VerbsAbi.RecvWr.BYTES;
    this.block = NativeBlock.map(messages + requestBytes + (long) slots * VerbsAbi.Sge.BYTES + BAD_WR_BYTES);
    this.requests = block.address() + messages;
    long madeRegion = 0;
    long madeQueue = 0;
    try {
      madeRegion =
          device.context().registerMemory(
              device.pd(), block.address(), messages, VerbsAbi.AccessFlags.LOCAL_WRITE);
      madeQueue = device.context().createSrq(device.pd(), slots);
    } catch (RuntimeException e) {
      if (madeRegion != 0) {
        device.deregister(madeRegion);
      }
      block.close();
      throw e;
    }
    this.region = madeRegion;
    this.srq = madeQueue;
    long pieces = requests + requestBytes;
    int key = RawMemory.u32(region + VerbsAbi.Mr.LKEY);
    for (int i = 0; i < slots; i++) {
      long piece = pieces + (long) i * VerbsAbi.Sge.BYTES;
      RawMemory.u64(piece + VerbsAbi.Sge.ADDR, block.address() + (long) i * SLOT_BYTES);
      RawMemory.u32(piece + VerbsAbi.Sge.LENGTH, SLOT_BYTES);
      RawMemory.u32(piece + VerbsAbi.Sge.LKEY, key);
      long request = request(i);
      RawMemory.u64(request + VerbsAbi.RecvWr.WR_ID, SendQueue.RECEIVE | i);
      RawMemory.u64(request + VerbsAbi.RecvWr.SG_LIST, piece);
      RawMemory.u32(request + VerbsAbi.RecvWr.NUM_SGE, 1);
      RawMemory.u64(request + VerbsAbi.RecvWr.NEXT, i + 1 < slots ? request(i + 1) : 0);
    }
    int errno = post(0, slots, pieces + (long) slots * VerbsAbi.Sge.BYTES);
    if (errno != 0) {
      close();
      throw new VerbsException("ibv_post_srq_recv", device.name(), errno, "");
    }
  }

  private long request(int slot) {
    return requests + (long) slot * VerbsAbi.RecvWr.BYTES;
  }

  private int post(int first, int count, long badWr) {
    posted.addAndGet(count);
    return device.context().postSrqReceive(srq, request(first), badWr);
  }

  long address() {
    return srq;
  }

  int slots() {
    return slots;
  }

  /** A view of all slots for one reader. */
  ByteBuffer view() {
    return block.view(0, slots * SLOT_BYTES);
  }

  /** The device has used {@code count} slots, which the caller holds now. */
  void taken(int count) {
    posted.addAndGet(-count);
  }

  /** True if so few are left that every connection gives back at once what it holds. */
  boolean isLow() {
    return posted.get() < slots / 2;
  }

  /**
   * Gives slots back, in one call.
   *
   * @param badWr eight bytes of the caller's
   * @return 0, or the error number
   */
  int give(int[] held, int count, long badWr) {
    for (int i = 0; i < count; i++) {
      RawMemory.u64(request(held[i]) + VerbsAbi.RecvWr.NEXT, i + 1 < count ? request(held[i + 1]) : 0);
    }
    return post(held[0], count, badWr);
  }

  /** Once no queue pair uses it. */
  @Override
  public void close() {
    int errno = device.context().destroySrq(srq);
    if (errno != 0) {
      throw new VerbsException("ibv_destroy_srq", device.name(), errno, "a queue pair still uses it");
    }
    device.deregister(region);
    block.close();
  }
}
