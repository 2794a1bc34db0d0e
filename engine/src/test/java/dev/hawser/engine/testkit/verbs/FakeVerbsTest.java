/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsAbi.EventType;
import dev.hawser.engine.verbs.abi.VerbsAbi.Opcode;
import dev.hawser.engine.verbs.abi.VerbsAbi.SendFlags;
import dev.hawser.engine.verbs.abi.VerbsAbi.WcStatus;
import dev.hawser.engine.verbs.abi.VerbsException;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The fake does what a provider does: otherwise what is tested on it is worth nothing. */
final class FakeVerbsTest {
  private static final int POLLIN = 1;

  private FakeVerbs verbs;
  private RawEnd a;
  private RawEnd b;

  @BeforeEach
  void connect() {
    verbs = new FakeVerbs(2);
    VerbsLibrary library = VerbsLibrary.of("fake", verbs.symbols());
    a = new RawEnd(library, 0);
    b = new RawEnd(library, 1);
    assertThat(a.connect(b)).isZero();
    assertThat(b.connect(a)).isZero();
    for (int i = 0; i < RawEnd.BYTES; i++) {
      RawMemory.u8(a.memory.address() + i, i * 31);
      RawMemory.u8(b.memory.address() + i, i * 17 + 5);
    }
  }

  @AfterEach
  void giveBack() {
    a.close();
    b.close();
    assertThat(verbs.leftovers()).isEmpty();
    verbs.close();
  }

  private void clean() {
    assertThat(verbs.violations()).isEmpty();
  }

  @Test
  void writesMoveTheirBytesAndNoOthers() {
    a.request(0, Opcode.RDMA_WRITE, SendFlags.SIGNALED, 1000, b.memory.address() + 64, b.rkey());
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.status(0)).isEqualTo(WcStatus.SUCCESS);
    assertThat(a.id(0)).isEqualTo(1000);
    assertThat(a.field(0, VerbsAbi.Wc.OPCODE)).isEqualTo(VerbsAbi.WcOpcode.RDMA_WRITE);
    assertThat(b.memory.asSlice(64, 1000).mismatch(a.memory.asSlice(0, 1000))).isEqualTo(-1);
    assertThat(RawMemory.u8(b.memory.address() + 63)).isEqualTo((63 * 17 + 5) & 0xff);
    assertThat(RawMemory.u8(b.memory.address() + 1064)).isEqualTo((1064 * 17 + 5) & 0xff);
    assertThat(verbs.device(0).counters().bytesWritten()).isEqualTo(1000);
    clean();
  }

  @Test
  void readsFetch() {
    a.request(0, Opcode.RDMA_READ, SendFlags.SIGNALED, 5000, b.memory.address() + 3, b.rkey());
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.status(0)).isEqualTo(WcStatus.SUCCESS);
    assertThat(a.memory.asSlice(0, 5000).mismatch(b.memory.asSlice(3, 5000))).isEqualTo(-1);
    clean();
  }

  @Test
  void messagesTakeReceivesInOrder() {
    assertThat(b.receive(1, 0, 4096)).isZero();
    assertThat(b.receive(2, 4096, 4096)).isZero();
    a.request(0, Opcode.SEND, 0, 300, 0, 0);
    a.request(1, Opcode.RDMA_WRITE_WITH_IMM, SendFlags.SIGNALED, 0, 0, 0);
    assertThat(a.post()).isZero();
    assertThat(b.poll()).isEqualTo(2);
    assertThat(b.id(0)).isEqualTo(1);
    assertThat(b.field(0, VerbsAbi.Wc.OPCODE)).isEqualTo(VerbsAbi.WcOpcode.RECV);
    assertThat(b.field(0, VerbsAbi.Wc.BYTE_LEN)).isEqualTo(300);
    assertThat(b.memory.asSlice(0, 300).mismatch(a.memory.asSlice(0, 300))).isEqualTo(-1);
    assertThat(b.id(1)).isEqualTo(2);
    assertThat(b.field(1, VerbsAbi.Wc.OPCODE)).isEqualTo(VerbsAbi.WcOpcode.RECV_RDMA_WITH_IMM);
    assertThat(Integer.reverseBytes(b.field(1, VerbsAbi.Wc.IMM_DATA))).isEqualTo(77);
    assertThat(b.field(1, VerbsAbi.Wc.QP_NUM)).isEqualTo(b.number());
    assertThat(a.poll()).as("only one was signalled").isEqualTo(1);
    assertThat(a.id(0)).isEqualTo(1001);
    clean();
  }

  @Test
  void withoutReceiveARequestWaitsAndHoldsBackThoseBehind() {
    a.request(0, Opcode.SEND, SendFlags.SIGNALED | SendFlags.INLINE, 8, 0, 0);
    a.request(1, Opcode.RDMA_WRITE, SendFlags.SIGNALED, 8, b.memory.address() + 512, b.rkey());
    FakeQueuePair queuePair = verbs.device(0).queuePairs().getFirst();
    queuePair.hold(); // the retry's time does not begin before the receive is there
    assertThat(a.post()).isZero();
    assertThat(queuePair.waiting()).isEqualTo(2);
    RawMemory.u64(a.memory.address(), 42); // what was inline is not read again; what was not, is
    assertThat(b.receive(9, 0, 64)).isZero();
    queuePair.release();
    assertThat(a.poll()).isEqualTo(2);
    assertThat(b.poll()).isEqualTo(1);
    assertThat(RawMemory.u64(b.memory.address())).isNotEqualTo(42);
    assertThat(RawMemory.u64(b.memory.address() + 512)).isEqualTo(42);
    clean();
  }

  @Test
  void aPeerThatIsNeverReadyEndsTheRetries() {
    a.request(0, Opcode.SEND, 0, 8, 0, 0);
    a.request(1, Opcode.SEND, 0, 8, 0, 0);
    assertThat(a.post()).isZero();
    assertThat(a.await()).isEqualTo(2);
    assertThat(a.status(0)).isEqualTo(WcStatus.RNR_RETRY_EXC_ERR);
    assertThat(a.status(1)).isEqualTo(WcStatus.WR_FLUSH_ERR);
    clean();
  }

  @Test
  void aPeerThatDoesNotAnswerEndsTheRetries() {
    verbs.device(1).cut();
    a.request(0, Opcode.RDMA_WRITE, 0, 8, b.memory.address(), b.rkey());
    assertThat(a.post()).isZero();
    assertThat(a.await()).isEqualTo(1);
    assertThat(a.status(0)).isEqualTo(WcStatus.RETRY_EXC_ERR);
    assertThat(a.id(0)).isEqualTo(1000);
    clean();
  }

  @Test
  void aShortCutIsRetried() {
    verbs.device(1).cut();
    FakeQueuePair queuePair = verbs.device(0).queuePairs().getFirst();
    queuePair.hold();
    a.request(0, Opcode.RDMA_WRITE, SendFlags.SIGNALED, 8, b.memory.address(), b.rkey());
    assertThat(a.post()).isZero();
    verbs.device(1).mend();
    queuePair.release();
    assertThat(a.await()).isEqualTo(1);
    assertThat(a.status(0)).isEqualTo(WcStatus.SUCCESS);
    clean();
  }

  @Test
  void aRangeOutOfBoundsFailsBothEnds() {
    a.request(
        0, Opcode.RDMA_WRITE, 0, 16, b.memory.address() + RawEnd.BYTES - 15, b.rkey());
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.status(0)).isEqualTo(WcStatus.REM_ACCESS_ERR);
    assertThat(verbs.device(1).queuePairs().getFirst().state()).isEqualTo(VerbsAbi.QpState.ERR);
    assertThat(events(b)).containsExactly(EventType.QP_LAST_WQE_REACHED, EventType.QP_ACCESS_ERR);
    clean();
  }

  @Test
  void keysAreChecked() {
    a.request(0, Opcode.RDMA_WRITE, 0, 16, b.memory.address(), b.lkey());
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.status(0)).as("the peer's lkey is no rkey").isEqualTo(WcStatus.REM_ACCESS_ERR);
    b.request(0, Opcode.RDMA_WRITE, 0, 16, a.memory.address(), a.rkey(), b.rkey());
    assertThat(b.post()).isZero();
    assertThat(b.poll()).isEqualTo(1);
    assertThat(b.status(0)).as("this end has failed, too").isEqualTo(WcStatus.WR_FLUSH_ERR);
    clean();
  }

  @Test
  void aWrongLocalKeyFailsHere() {
    a.request(0, Opcode.RDMA_WRITE, 0, 16, b.memory.address(), b.rkey(), a.rkey());
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.status(0)).isEqualTo(WcStatus.LOC_PROT_ERR);
    assertThat(verbs.device(1).queuePairs().getFirst().state()).isEqualTo(VerbsAbi.QpState.RTS);
    clean();
  }

  @Test
  void aMessageThatIsTooLongFailsBothEnds() {
    assertThat(b.receive(5, 0, 100)).isZero();
    a.request(0, Opcode.SEND, 0, 101, 0, 0);
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.status(0)).isEqualTo(WcStatus.REM_INV_REQ_ERR);
    assertThat(b.poll()).isEqualTo(1);
    assertThat(b.status(0)).isEqualTo(WcStatus.LOC_LEN_ERR);
    assertThat(b.id(0)).isEqualTo(5);
    clean();
  }

  @Test
  void theErrorStateFlushesAll() {
    FakeQueuePair queuePair = verbs.device(0).queuePairs().getFirst();
    queuePair.hold();
    a.request(0, Opcode.RDMA_WRITE, 0, 8, b.memory.address(), b.rkey());
    a.request(1, Opcode.RDMA_WRITE, SendFlags.SIGNALED, 8, b.memory.address(), b.rkey());
    assertThat(a.post()).isZero();
    a.toError();
    assertThat(a.poll()).isEqualTo(2);
    assertThat(a.status(0)).isEqualTo(WcStatus.WR_FLUSH_ERR);
    assertThat(a.status(1)).isEqualTo(WcStatus.WR_FLUSH_ERR);
    a.request(0, Opcode.RDMA_WRITE, 0, 8, b.memory.address(), b.rkey());
    assertThat(a.post()).as("a marker behind them").isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(RawMemory.u8(b.memory.address())).as("nothing was written").isEqualTo(5);
    clean();
  }

  @Test
  void aSendQueueIsFreedByWhatIsSignalledAndPolled() {
    for (int i = 0; i < RawEnd.DEPTH; i++) {
      a.request(i, Opcode.RDMA_WRITE, i == 7 ? SendFlags.SIGNALED : 0, 8, b.memory.address(), b.rkey());
    }
    assertThat(a.post()).isZero();
    long first = a.request(0, Opcode.RDMA_WRITE, 0, 8, b.memory.address(), b.rkey());
    assertThat(a.post()).isEqualTo(12);
    assertThat(a.bad()).isEqualTo(first);
    assertThat(verbs.violations()).hasSize(1).first().asString().contains("overfilled");
    assertThat(a.poll()).isEqualTo(1);
    for (int i = 0; i < 9; i++) {
      a.request(i, Opcode.RDMA_WRITE, 0, 8, b.memory.address(), b.rkey());
    }
    assertThat(a.post()).as("eight are free, the ninth is not").isEqualTo(12);
    assertThat(verbs.device(0).counters().workRequests()).isEqualTo(RawEnd.DEPTH + 8);
    assertThat(verbs.device(0).counters().doorbells()).isEqualTo(3);
    assertThat(verbs.device(0).counters().signalled()).isEqualTo(1);
  }

  static IntStream statuses() {
    return IntStream.rangeClosed(WcStatus.LOC_LEN_ERR, WcStatus.GENERAL_ERR);
  }

  @ParameterizedTest
  @MethodSource("statuses")
  void everyStatusCanBeInjected(int status) {
    verbs.device(0).failNext(Opcode.RDMA_WRITE, status, 0x99);
    a.request(0, Opcode.RDMA_READ, 0, 8, b.memory.address(), b.rkey());
    a.request(1, Opcode.RDMA_WRITE, 0, 8, b.memory.address(), b.rkey());
    a.request(2, Opcode.RDMA_WRITE, 0, 8, b.memory.address(), b.rkey());
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(2);
    assertThat(a.id(0)).isEqualTo(1001);
    assertThat(a.status(0)).isEqualTo(status);
    assertThat(a.field(0, VerbsAbi.Wc.VENDOR_ERR)).isEqualTo(0x99);
    assertThat(a.status(1)).isEqualTo(WcStatus.WR_FLUSH_ERR);
    clean();
  }

  @Test
  void pollsCanBeShort() {
    verbs.device(0).shortPolls(1);
    for (int i = 0; i < 3; i++) {
      a.request(i, Opcode.RDMA_WRITE, SendFlags.SIGNALED, 8, b.memory.address(), b.rkey());
    }
    assertThat(a.post()).isZero();
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.poll()).isEqualTo(1);
    assertThat(a.poll()).isZero();
    clean();
  }

  @Test
  void anArmedQueueTellsOfTheNextCompletionOnly() {
    long scratch = a.arena.allocate(16, 8).address();
    a.request(0, Opcode.RDMA_WRITE, SendFlags.SIGNALED, 8, b.memory.address(), b.rkey());
    assertThat(a.post()).isZero();
    assertThat(a.context.requestNotification(a.cq)).isZero();
    assertThat(a.post()).isZero();
    assertThat(a.post()).isZero();
    assertThat(a.context.takeCqEvent(a.channel, scratch)).isTrue();
    assertThat(RawMemory.u64(scratch)).isEqualTo(a.cq);
    a.context.ackCqEvents(a.cq, 1);
    assertThat(a.poll()).isEqualTo(3);
    clean();
  }

  @Test
  void portsGoDownAndSayIt() {
    verbs.device(0).portDown();
    assertThat(a.context.queryPort(1).active()).isFalse();
    verbs.device(0).portUp();
    assertThat(a.context.queryPort(1).active()).isTrue();
    assertThat(events(a)).containsExactly(EventType.PORT_ERR, EventType.PORT_ACTIVE);
    clean();
  }

  @Test
  void callsCanBeRefused() {
    verbs.refuse("ibv_reg_mr_iova2", 12, 1);
    assertThatThrownBy(() -> a.context.registerMemory(a.pd, a.memory.address(), 100, 1))
        .isInstanceOf(VerbsException.class)
        .hasMessageContaining("ENOMEM")
        .hasMessageContaining("ulimit -l");
    assertThat(a.context.deregister(a.context.registerMemory(a.pd, a.memory.address(), 100, 1))).isZero();
    clean();
  }

  @Test
  void setUpIsChecked() {
    VerbsLibrary library = VerbsLibrary.of("fake", verbs.symbols());
    try (RawEnd c = new RawEnd(library, 0)) {
      verbs.device(1).cut();
      assertThat(c.connect(b)).as("nobody answers for that address").isEqualTo(110);
      verbs.device(1).mend();
    }
    verbs.device(0).mtu(VerbsAbi.Mtu.BYTES_512);
    try (RawEnd c = new RawEnd(library, 0)) {
      assertThat(c.connect(b)).as("an MTU that the port does not have").isEqualTo(22);
    }
    clean();
  }

  /** Takes what is there, without waiting: the descriptor blocks. */
  private static List<Integer> events(RawEnd end) {
    List<Integer> types = new ArrayList<>();
    long event = end.arena.allocate(VerbsAbi.AsyncEvent.BYTES, 8).address();
    while (Sockets.poll(end.context.asyncFd(), POLLIN, 0) != 0) {
      assertThat(end.context.takeAsyncEvent(event)).isTrue();
      types.add(RawMemory.u32(event + VerbsAbi.AsyncEvent.EVENT_TYPE));
      end.context.ackAsyncEvent(event);
    }
    return types;
  }
}
