/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.net.NativeBlock;
import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What the queue makes of a device's answers; the test is the device. */
class SendQueueTest {
  private static final int DEPTH = 256;

  private final NativeBlock block = NativeBlock.map(SendQueue.nativeBytes(DEPTH));
  private final SendQueue queue = new SendQueue(DEPTH, block.address(), 64);

  @AfterEach
  void release() {
    block.close();
  }

  private void post(long workId, int requests) {
    for (int i = 0; i < requests; i++) {
      assertThat(queue.draft(false, 1000 + i, 7, 2000 + i, 8, 100, true)).isTrue();
    }
    queue.postDraft(workId, requests * 100L);
  }

  /** Rings the doorbell: the slots of the chain, negative if signalled. */
  private List<Integer> ring() {
    List<Integer> slots = new ArrayList<>();
    for (long wr = queue.chain(); wr != 0; wr = RawMemory.u64(wr + VerbsAbi.SendWr.NEXT)) {
      int slot = (int) RawMemory.u64(wr + VerbsAbi.SendWr.WR_ID);
      boolean signalled =
          (RawMemory.u32(wr + VerbsAbi.SendWr.SEND_FLAGS) & VerbsAbi.SendFlags.SIGNALED) != 0;
      slots.add(signalled ? -slot : slot);
    }
    queue.chainPosted(0);
    return slots;
  }

  private List<String> reports() {
    List<String> reports = new ArrayList<>();
    while (queue.hasEnded()) {
      reports.add(queue.workId() + " " + queue.status() + (queue.detail() == 0 ? "" : " " + queue.detail()));
      queue.removeWork();
    }
    return reports;
  }

  @Test
  void chainsABatchAndSignalsItsLast() {
    post(1, 3);
    post(2, 2);
    assertThat(ring()).containsExactly(0, 1, 2, 3, -4);
    assertThat(reports()).isEmpty();
    queue.completed(4);
    assertThat(reports()).containsExactly("1 SUCCESS", "2 SUCCESS");
    assertThat(queue.isEmpty()).isTrue();
    assertThat(queue.bytesInFlight()).isZero();
  }

  @Test
  void signalsWithinALongList() {
    post(1, 40);
    post(2, 40);
    post(3, 40);
    List<Integer> chain = ring();
    assertThat(chain).hasSize(120);
    assertThat(chain.stream().filter(slot -> slot < 0)).containsExactly(-79, -119);
    queue.completed(79);
    assertThat(reports()).containsExactly("1 SUCCESS", "2 SUCCESS");
  }

  @Test
  void neverHoldsMoreThanTheQueuePairTakes() {
    int posted = 0;
    int done = 0;
    for (int round = 0; round < 10_000; round++) {
      int most = queue.room();
      if (most > 0) {
        post(round + 1, Math.min(most, 1 + round % 7));
        posted += Math.min(most, 1 + round % 7);
      } else {
        ring();
        queue.completed((posted - 1) & 255);
        done += reports().size();
      }
      assertThat(posted).isLessThanOrEqualTo(10_000 * 7);
      assertThat(queue.room()).isLessThanOrEqualTo(queue.most());
    }
    assertThat(done).isGreaterThan(1000);
  }

  @Test
  void keepsRoomForMessagesWhenDataFillTheRest() {
    while (queue.room() > 0) {
      post(1, 1);
    }
    for (int i = 0; i < 64; i++) {
      assertThat(queue.hasRoom()).isTrue();
      queue.postMessage(2, 0, 0, 10, -1);
    }
    queue.postImmediate(3, 5);
  }

  @Test
  void aDraftThatDoesNotFitLeavesNothing() {
    while (queue.room() > 0) {
      post(1, 1);
    }
    int fitting = 0;
    while (queue.draft(false, 0, 0, 0, 0, 1, false)) {
      fitting++;
    }
    queue.discardDraft();
    assertThat(fitting).isEqualTo(8);
    assertThat(ring()).hasSize(queue.most());
  }

  @Test
  void tellsWhoseRequestWasRefusedAndLeavesTheOthersOpen() {
    post(1, 2);
    post(2, 2);
    post(3, 2);
    ring();
    queue.failed(2, WorkStatus.REMOTE_ACCESS, 136);
    queue.stop();
    assertThat(reports()).containsExactly("1 FLUSHED");
    queue.failed(3, WorkStatus.FLUSHED, 0);
    assertThat(reports()).containsExactly("2 REMOTE_ACCESS 136");
    assertThat(queue.isFlushed()).isFalse();
    queue.failed(4, WorkStatus.FLUSHED, 0);
    queue.failed(5, WorkStatus.FLUSHED, 0);
    assertThat(reports()).containsExactly("3 FLUSHED");
    assertThat(queue.isFlushed()).isTrue();
  }

  @Test
  void givesUpWhatWasNeverHandedOver() {
    post(1, 1);
    ring();
    post(2, 1);
    queue.stop();
    assertThat(queue.isFlushed()).isFalse();
    assertThat(reports()).isEmpty();
    queue.completed(0); // it had ended before the queue pair did
    assertThat(queue.isFlushed()).isTrue();
    assertThat(reports()).containsExactly("1 SUCCESS", "2 FLUSHED");
  }

  @Test
  void stopsWhereTheDeviceStopped() {
    post(1, 1);
    post(2, 1);
    post(3, 1);
    long chain = queue.chain();
    long second = RawMemory.u64(chain + VerbsAbi.SendWr.NEXT);
    queue.chainPosted(second);
    queue.stop();
    assertThat(queue.isFlushed()).isFalse();
    queue.failed(0, WorkStatus.FLUSHED, 0);
    assertThat(reports()).containsExactly("1 FLUSHED", "2 FLUSHED", "3 FLUSHED");
  }

  @Test
  void reportsWhatNeededNoRequestInItsTurn() {
    post(1, 1);
    queue.addEnded(2, WorkStatus.LOCAL_ACCESS);
    ring();
    assertThat(reports()).isEmpty();
    queue.completed(0);
    assertThat(reports()).containsExactly("1 SUCCESS", "2 LOCAL_ACCESS");
    queue.addEnded(3, WorkStatus.REMOTE_ACCESS);
    assertThat(reports()).containsExactly("3 REMOTE_ACCESS");
  }

  @Test
  void writesWhatTheDeviceReads() {
    queue.draft(true, 0x1111_2222_3333L, 0x44, 0x5555_6666_7777L, 0x88, 50, true);
    queue.draft(false, 1, 2, 3, 4, 50, true);
    queue.draft(false, 1, 2, 3, 4, 65, true);
    queue.postDraft(1, 165);
    queue.postImmediate(2, 0x0102_0304);
    long read = queue.chain();
    assertThat(RawMemory.u32(read + VerbsAbi.SendWr.OPCODE)).isEqualTo(VerbsAbi.Opcode.RDMA_READ);
    assertThat(RawMemory.u32(read + VerbsAbi.SendWr.NUM_SGE)).isEqualTo(1);
    assertThat(RawMemory.u32(read + VerbsAbi.SendWr.SEND_FLAGS)).isZero();
    assertThat(RawMemory.u64(read + VerbsAbi.SendWr.REMOTE_ADDR)).isEqualTo(0x5555_6666_7777L);
    assertThat(RawMemory.u32(read + VerbsAbi.SendWr.RKEY)).isEqualTo(0x88);
    long piece = RawMemory.u64(read + VerbsAbi.SendWr.SG_LIST);
    assertThat(RawMemory.u64(piece + VerbsAbi.Sge.ADDR)).isEqualTo(0x1111_2222_3333L);
    assertThat(RawMemory.u32(piece + VerbsAbi.Sge.LENGTH)).isEqualTo(50);
    assertThat(RawMemory.u32(piece + VerbsAbi.Sge.LKEY)).isEqualTo(0x44);
    long small = RawMemory.u64(read + VerbsAbi.SendWr.NEXT);
    assertThat(RawMemory.u32(small + VerbsAbi.SendWr.OPCODE)).isEqualTo(VerbsAbi.Opcode.RDMA_WRITE);
    assertThat(RawMemory.u32(small + VerbsAbi.SendWr.SEND_FLAGS)).isEqualTo(VerbsAbi.SendFlags.INLINE);
    long large = RawMemory.u64(small + VerbsAbi.SendWr.NEXT);
    assertThat(RawMemory.u32(large + VerbsAbi.SendWr.SEND_FLAGS)).isZero();
    long flush = RawMemory.u64(large + VerbsAbi.SendWr.NEXT);
    assertThat(RawMemory.u32(flush + VerbsAbi.SendWr.OPCODE)).isEqualTo(VerbsAbi.Opcode.RDMA_WRITE_WITH_IMM);
    assertThat(RawMemory.u32(flush + VerbsAbi.SendWr.NUM_SGE)).isZero();
    assertThat(RawMemory.u32(flush + VerbsAbi.SendWr.IMM_DATA)).isEqualTo(0x0403_0201); // big-endian
    assertThat(RawMemory.u32(flush + VerbsAbi.SendWr.SEND_FLAGS)).isEqualTo(VerbsAbi.SendFlags.SIGNALED);
    assertThat(RawMemory.u64(flush + VerbsAbi.SendWr.NEXT)).isZero();
  }
}
