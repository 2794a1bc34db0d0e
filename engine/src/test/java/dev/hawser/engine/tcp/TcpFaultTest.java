/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.net.Epoll;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.staging.PathStaging;
import dev.hawser.engine.staging.Staging;
import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Connections that end in the middle, and peers that do not keep to the protocol. */
class TcpFaultTest {
  private static final int LENGTH = 32 << 20;

  @ParameterizedTest
  @CsvSource({"WRITE", "READ"})
  void nothingLandsAfterTheReceiverHasDrained(Op op) {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(LENGTH);
      Region remote = rig.allocate(LENGTH);
      Region to = op == Op.WRITE ? remote : local;
      Pattern.fill(op == Op.WRITE ? local : remote, 4);
      Pattern.canary(to);
      rig.post(1, op, TcpRig.plan(local, 0, remote, 0, LENGTH));
      rig.post(2, op, TcpRig.plan(local, 0, remote, 0, LENGTH));
      rig.pumpUntil(() -> landed(to) > 1 << 20);
      long before = landed(to);
      assertThat(before).as("it is in the middle").isLessThan(LENGTH);

      TcpConnection receiver = op == Op.WRITE ? rig.target : rig.initiator;
      TcpConnection sender = op == Op.WRITE ? rig.initiator : rig.target;
      receiver.abort();
      drain(receiver, op == Op.WRITE ? rig.atTarget : rig.atInitiator);
      byte[] drained = Pattern.copy(to);
      for (int i = 0; i < 1000; i++) {
        rig.pump();
      }

      assertThat(Pattern.copy(to)).isEqualTo(drained);
      assertThat(remote.uses()).isZero();
      assertThat(Objects.requireNonNull(op == Op.WRITE ? rig.atInitiator.fault : rig.atTarget.fault).kind())
          .isEqualTo(PathFault.Kind.RESET);
      sender.abort();
      drain(sender, op == Op.WRITE ? rig.atInitiator : rig.atTarget);
      assertThat(rig.atInitiator.completions)
          .containsExactly(
              new Recorder.Completion(1, WorkStatus.FLUSHED), new Recorder.Completion(2, WorkStatus.FLUSHED));
    }
  }

  @ParameterizedTest
  @CsvSource({"WRITE", "READ"})
  void theOtherEndLetsGoWhenTheConnectionIsCut(Op op) {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(LENGTH);
      Region remote = rig.allocate(LENGTH);
      Region to = op == Op.WRITE ? remote : local;
      Pattern.fill(op == Op.WRITE ? local : remote, 4);
      Pattern.canary(to);
      rig.post(1, op, TcpRig.plan(local, 0, remote, 0, LENGTH));
      rig.pumpUntil(() -> landed(to) > 1 << 20);
      assertThat(remote.uses()).isEqualTo(1);

      TcpConnection sender = op == Op.WRITE ? rig.initiator : rig.target;
      sender.abort();
      rig.pumpUntil(() -> (op == Op.WRITE ? rig.atTarget.fault : rig.atInitiator.fault) != null);

      assertThat(remote.uses()).isZero();
      TcpConnection receiver = op == Op.WRITE ? rig.target : rig.initiator;
      receiver.abort();
      drain(receiver, op == Op.WRITE ? rig.atTarget : rig.atInitiator);
      drain(sender, op == Op.WRITE ? rig.atInitiator : rig.atTarget);
      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.FLUSHED);
      assertThat(landed(to)).isLessThan(LENGTH);
      assertThat(rig.atTarget.order).noneMatch(event -> event.startsWith("refused"));
    }
  }

  @Test
  void whatArrivedBeforeTheEndIsReportedBeforeIt() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(4096);
      Region remote = rig.allocate(4096);
      Pattern.fill(local, 9);
      rig.post(1, Op.WRITE, TcpRig.plan(local, 0, remote, 0, 4096));
      rig.initiator.postFlush(2, 5, false);
      rig.initiator.postMessage(3, ByteBuffer.allocate(10));
      rig.initiator.flushPosted();
      Sockets.shutdownOutput(rig.initiator.stream().fd());

      rig.pumpUntil(() -> rig.atTarget.fault != null);

      assertThat(rig.atTarget.order).containsExactly("flush 5", "message 10", "failed RESET");
      Pattern.check(remote, 0, 4096, 9, 0);
    }
  }

  @Test
  void afterAnAbortNothingIsAccepted() {
    try (TcpRig rig = new TcpRig()) {
      Region local = rig.allocate(64);
      Region remote = rig.allocate(64);
      rig.initiator.abort();
      rig.initiator.abort();

      assertThat(rig.initiator.segmentBudget()).isZero();
      assertThat(rig.post(1, Op.WRITE, TcpRig.plan(local, 0, remote, 0, 64))).isFalse();
      assertThat(rig.initiator.postMessage(1, ByteBuffer.allocate(1))).isFalse();
      assertThat(rig.initiator.postFlush(1, 1, true)).isFalse();
      assertThat(rig.initiator.drained()).isTrue();
      assertThat(rig.initiator.describe()).contains("3.1").contains("ABORTED");
    }
  }

  @Test
  void theSleeperIsWokenByWhatArrivesAndByRoom() throws Exception {
    try (TcpRig rig = new TcpRig();
        Epoll left = new Epoll();
        Epoll right = new Epoll()) {
      rig.initiator.attach(left);
      rig.target.attach(right);
      assertThat(rig.initiator.arm()).isTrue();
      assertThat(left.await(0)).isZero();

      rig.target.postMessage(1, ByteBuffer.allocate(1));
      assertThat(rig.target.arm()).as("something is to be sent").isFalse();
      rig.target.flushPosted();
      assertThat(rig.target.arm()).isTrue();
      assertThat(left.await(Duration.ofSeconds(10).toNanos())).isEqualTo(1);
      rig.pumpUntil(() -> rig.atTarget.completions.size() == 1);

      Region local = rig.allocate(LENGTH);
      Region remote = rig.allocate(LENGTH);
      rig.post(1, Op.WRITE, TcpRig.plan(local, 0, remote, 0, LENGTH));
      rig.post(2, Op.READ, TcpRig.plan(local, 0, remote, 0, LENGTH));
      while (!rig.initiator.out.isBlocked()) {
        rig.initiator.poll(rig.atInitiator);
      }
      assertThat(rig.initiator.arm()).isTrue();
      assertThat(left.await(0)).as("no room yet").isZero();
      for (int i = 0; i < 100 && left.await(0) == 0; i++) {
        rig.target.poll(rig.atTarget);
      }
      assertThat(left.await(Duration.ofSeconds(10).toNanos())).as("room").isEqualTo(1);
      // Both ends sleep whenever they can; it still comes to its end.
      long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (rig.atInitiator.completions.size() < 2) {
        boolean leftSleeps = rig.initiator.arm();
        boolean rightSleeps = rig.target.arm();
        if (!leftSleeps || left.await(0) > 0) {
          rig.initiator.poll(rig.atInitiator);
        }
        if (!rightSleeps || right.await(0) > 0) {
          rig.target.poll(rig.atTarget);
        }
        assertThat(System.nanoTime()).as("both sleep for ever").isLessThan(deadline);
      }
      assertThat(rig.atInitiator.statuses()).containsExactly(WorkStatus.SUCCESS, WorkStatus.SUCCESS);
      rig.pump();
      assertThat(rig.initiator.arm()).isTrue();
      assertThat(left.await(0)).isZero();

      // A dead socket keeps nobody awake.
      rig.target.abort();
      assertThat(right.await(0)).isZero();
      assertThat(left.await(Duration.ofSeconds(10).toNanos())).isEqualTo(1);
      rig.pumpUntil(() -> rig.atInitiator.fault != null);
      assertThat(rig.initiator.arm()).isTrue();
      assertThat(left.await(0)).isZero();
    }
  }

  // ------------------------------------------------------------------------------------------------ hostile peers

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void framesOutOfTurnEndTheConnectionWithTheReason(boolean target) {
    expectFault(target, frame(99, 0, 0, 1, 0), "frame type 99");
    expectFault(target, frame(0, 0, 0, 1, 0), "frame type 0");
    expectFault(target, frame(FrameLayout.MESSAGE, 0, 0, 2, 0), "MESSAGE 2 behind 0");
    expectFault(target, frame(FrameLayout.MESSAGE, 1, 0, 1, 0), "MESSAGE");
    expectFault(target, frame(FrameLayout.MESSAGE, 0, 0, 1, FrameLayout.MAX_MESSAGE_BYTES + 1), "MESSAGE of 5121");
    expectFault(target, frame(FrameLayout.MESSAGE, 0, 0, 1, -1), "MESSAGE");
    expectFault(target, frame(FrameLayout.MESSAGE, 0, 1, 1, 0), "MESSAGE with 1 segments");
    expectFault(target, frame(FrameLayout.ACK, 0, 0, 1, 0), "ACK of 1");
    expectFault(target, frame(FrameLayout.ACK, 0, 0, 0, 0), "ACK of 0");
    expectFault(target, frame(FrameLayout.ACK, 0, 0, -1, 0), "ACK of -1");
    if (target) {
      expectFault(true, frame(FrameLayout.WRITE, 0, 1025, 1, 0), "WRITE with 1025 segments");
      expectFault(true, frame(FrameLayout.WRITE, 0, 0, 1, 1), "WRITE of 1 bytes with segments of 0");
      expectFault(true, frame(FrameLayout.WRITE, 4, 0, 1, 0), "flags 4");
      expectFault(true, frame(FrameLayout.READ, 0, 1, 1, 4096, 0), "READ with an empty segment");
      expectFault(true, frame(FrameLayout.FLUSH, 2, 0, 1, 0), "FLUSH with flags 2");
      expectFault(true, frame(FrameLayout.FLUSH, 0, 0, 1, 7), "FLUSH");
      expectFault(true, frame(FrameLayout.READ_DATA, 1, 0, 1, 0), "READ_DATA to a target");
      expectFault(true, frame(FrameLayout.NACK, 1, 0, 1, 0), "NACK to a target");
      expectFault(true, frame(FrameLayout.WITHDRAW, 0, 0, 0, 0), "more WITHDRAWs than READs");
      expectFault(true, frame(FrameLayout.WITHDRAW, 1, 0, 0, 0), "WITHDRAW with flags 1");
      expectFault(true, frame(FrameLayout.WITHDRAW, 0, 0, 1, 0), "WITHDRAW with flags 0, sequence number 1");
      expectFault(true, frame(FrameLayout.WITHDRAW, 0, 0, 0, 8), "a length of 8");
      expectFault(true, frame(FrameLayout.WITHDRAW, 0, 1, 0, 0), "WITHDRAW with 1 segments");
    } else {
      expectFault(false, frame(FrameLayout.WRITE, 0, 0, 1, 0), "WRITE to an initiator");
      expectFault(false, frame(FrameLayout.READ, 0, 0, 1, 0), "READ to an initiator");
      expectFault(false, frame(FrameLayout.FLUSH, 0, 0, 1, 0), "FLUSH to an initiator");
      expectFault(false, frame(FrameLayout.READ_DATA, 1, 0, 1, 0), "READ_DATA of 0 bytes for 1");
      expectFault(false, frame(FrameLayout.NACK, 1, 0, 1, 0), "NACK 1 of 1");
      expectFault(false, frame(FrameLayout.NACK, 9, 0, 1, 0), "NACK 9 of 1");
      expectFault(false, frame(FrameLayout.WITHDRAW, 0, 0, 0, 0), "WITHDRAW to an initiator");
    }
  }

  @Test
  void wrongAnswersToRealRequestsEndTheConnection() {
    // Requests 1: WRITE, 2: READ of 4096 bytes, 3: MESSAGE, 4: READ.
    expectFault(false, 4, frame(FrameLayout.READ_DATA, 1, 0, 1, 0), "READ_DATA");
    expectFault(false, 4, frame(FrameLayout.READ_DATA, 0, 0, 2, 4097), "READ_DATA of 4097");
    expectFault(false, 4, frame(FrameLayout.READ_DATA, 1, 0, 2, 4095), "flags 1");
    expectFault(false, 4, frame(FrameLayout.READ_DATA, 0, 0, 2, 0), "READ_DATA of 0");
    expectFault(false, 4, frame(FrameLayout.READ_DATA, 1, 0, 4, 4096), "READ_DATA");
    expectFault(false, 4, frame(FrameLayout.NACK, 1, 0, 3, 0), "NACK 1 of 3");
    expectFault(false, 4, frame(FrameLayout.NACK, 1, 0, 4, 0), "out of turn");
    expectFault(false, 4, frame(FrameLayout.ACK, 0, 0, 5, 0), "ACK of 5");
    expectFault(false, 4, frame(FrameLayout.NACK, 4, 0, 1, 0), "NACK 4 of 1");
    expectFault(false, 4, frame(FrameLayout.NACK, 4, 0, 2, 0), "NACK 4 of 2");
  }

  @Test
  void whoDoesNotKnowWithdrawalsIsNotHeardOnThem() {
    byte[] frame = frame(FrameLayout.WITHDRAW, 0, 0, 0, 0);
    try (Raw raw = new Raw(true, false)) {
      raw.send(frame, frame.length);
      raw.pollUntilFault();
      assertThat(Objects.requireNonNull(raw.events.fault).detail()).contains("WITHDRAW, which was not agreed on");
    }
    byte[] nack = frame(FrameLayout.NACK, 4, 0, 2, 0);
    try (Raw raw = new Raw(false, false)) {
      raw.post(4);
      raw.connection.withdraw(1);
      raw.send(nack, nack.length);
      raw.pollUntilFault();
      assertThat(Objects.requireNonNull(raw.events.fault).detail()).contains("NACK 4 of 2");
    }
  }

  /** Each WITHDRAW has at least one READ that was not taken back: so one costs no more than those do. */
  @Test
  void aFloodOfWithdrawalsEndsTheConnection() {
    try (Raw raw = new Raw(true)) {
      int reads = 3;
      ByteBuffer out = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);
      out.put(frame(FrameLayout.WRITE, 0, 0, 1, 0)); // of transfer 0, like the READs
      for (int i = 0; i < reads; i++) {
        ByteBuffer read = ByteBuffer.wrap(frame(FrameLayout.READ, 0, 1, 2 + i, 64, 64)).order(ByteOrder.LITTLE_ENDIAN);
        read.putLong(32, raw.region.address()).putInt(44, raw.region.id());
        out.put(read.array());
      }
      for (int i = 0; i < reads; i++) {
        ByteBuffer withdraw = ByteBuffer.wrap(frame(FrameLayout.WITHDRAW, 0, 0, 0, 0)).order(ByteOrder.LITTLE_ENDIAN);
        withdraw.putLong(24, i == 0 ? -1 : 0); // the first is of nothing
        out.put(withdraw.array());
      }
      raw.send(out.array(), out.position());
      byte[] message = frame(FrameLayout.MESSAGE, 0, 0, 5, 0);
      raw.send(message, message.length);
      raw.pollUntil(1);
      assertThat(raw.events.order).containsExactly("message 0");

      byte[] more = frame(FrameLayout.WITHDRAW, 0, 0, 0, 0);
      raw.send(more, more.length);
      raw.pollUntilFault();
      assertThat(Objects.requireNonNull(raw.events.fault).detail()).contains("more WITHDRAWs than READs");
      assertThat(raw.region.uses()).isZero();
    }
  }

  @Test
  void truncatedFramesWaitAndThenEndWithTheStream() {
    byte[] whole = frame(FrameLayout.WRITE, 0, 1, 1, 64, 64);
    for (int n = 0; n < whole.length; n++) {
      try (Raw raw = new Raw(true)) {
        raw.send(whole, n);
        raw.poll();
        assertThat(raw.events.order).isEmpty();
        Sockets.shutdownOutput(raw.fd);
        raw.pollUntilFault();
        assertThat(raw.events.order).as("%d bytes", n).containsExactly("failed RESET");
      }
    }
  }

  @Test
  void byteByByteIsAsGoodAsAtOnce() {
    try (Raw raw = new Raw(true)) {
      Region region = raw.region;
      Pattern.canary(region);
      ByteBuffer write = ByteBuffer.wrap(frame(FrameLayout.WRITE, 0, 1, 1, 64, 64)).order(ByteOrder.LITTLE_ENDIAN);
      write.putLong(32, region.address() + 100).putInt(44, region.id());
      byte[] message = frame(FrameLayout.MESSAGE, 0, 0, 2, 3);
      byte[] bytes = new byte[write.capacity() + 64 + message.length + 3];
      write.get(0, bytes, 0, write.capacity());
      for (int i = 0; i < 64; i++) {
        bytes[write.capacity() + i] = Pattern.at(6, i);
      }
      System.arraycopy(message, 0, bytes, write.capacity() + 64, message.length);
      for (byte each : bytes) {
        raw.send(new byte[] {each}, 1);
        raw.poll();
      }
      raw.pollUntil(1);

      assertThat(raw.events.order).containsExactly("message 3");
      Pattern.check(region, 100, 64, 6, 0);
      Pattern.checkCanary(region, 0, 100);
      Pattern.checkCanary(region, 164, 100);
      assertThat(region.uses()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void noiseTouchesNothingThatIsNotGranted(boolean target) {
    for (long seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      try (Raw raw = new Raw(target)) {
        Pattern.canary(raw.guard);
        byte[] noise = new byte[1 + random.nextInt(3000)];
        random.nextBytes(noise);
        // Plausible headers get further than noise alone.
        for (int at = 0; at + 48 < noise.length && random.nextInt(4) > 0; at += 32 + random.nextInt(64)) {
          ByteBuffer frame = ByteBuffer.wrap(noise).order(ByteOrder.LITTLE_ENDIAN);
          frame.put(at, (byte) (1 + random.nextInt(8))).put(at + 1, (byte) random.nextInt(2));
          frame.putShort(at + 2, (short) random.nextInt(3)).putLong(at + 8, random.nextInt(4));
          frame.putLong(at + 16, random.nextInt(200)).putInt(at + 40, random.nextInt(200));
          frame.putInt(at + 44, random.nextInt(4)).putLong(at + 32, raw.region.address() + random.nextInt(5000));
        }
        raw.send(noise, noise.length);
        Sockets.shutdownOutput(raw.fd);
        raw.pollUntilFault();
        raw.connection.abort();

        assertThat(raw.region.uses()).as("seed %d", seed).isZero();
        Pattern.checkCanary(raw.guard, 0, raw.guard.length());
      }
    }
  }

  private static void expectFault(boolean target, byte[] bytes, String reason) {
    expectFault(target, 0, bytes, reason);
  }

  private static void expectFault(boolean target, int requests, byte[] bytes, String reason) {
    try (Raw raw = new Raw(target)) {
      raw.post(requests);
      raw.send(bytes, bytes.length);
      raw.pollUntilFault();
      PathFault fault = Objects.requireNonNull(raw.events.fault);
      assertThat(fault.kind()).as(fault.detail()).isEqualTo(PathFault.Kind.PROTOCOL);
      assertThat(fault.detail()).contains(reason).contains("test socket");
      assertThat(raw.region.uses()).isZero();
    }
  }

  private static byte[] frame(int type, int flags, int segments, long sequence, long length, int... segmentLengths) {
    ByteBuffer out =
        ByteBuffer.allocate(FrameLayout.HEADER_BYTES + segmentLengths.length * FrameLayout.SEGMENT_BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    out.put((byte) type).put((byte) flags).putShort((short) segments).putInt(0);
    out.putLong(sequence).putLong(length).putLong(0);
    for (int each : segmentLengths) {
      out.putLong(0x1000).putInt(each).putInt(1);
    }
    return out.array();
  }

  /** One end of ours, and a socket that says what it likes. */
  private static final class Raw implements AutoCloseable {
    final MemoryRegistry registry = MemoryRegistry.create();
    final Arena arena = Arena.ofShared();
    final Region region;
    final Region guard;
    final int fd;
    final TcpConnection connection;
    final Recorder events = new Recorder();

    Raw(boolean target) {
      this(target, true);
    }

    Raw(boolean target, boolean withdraws) {
      MemorySegment memory = arena.allocate(3 * 4096, 4096);
      region = registry.register(memory.asSlice(0, 4096), Access.REMOTE_READ_WRITE);
      guard = registry.register(memory.asSlice(4096, 8192), Access.LOCAL);
      int[] pair = TcpRig.connect("127.0.0.1:0");
      fd = pair[0];
      TcpRig.Stream stream = new TcpRig.Stream(pair[1], null);
      connection =
          target
              ? new TargetConnection(new PathKey(1, 1), stream, registry, new PathStaging(new Staging(registry)),
                  new LostMemory(registry), withdraws)
              : new InitiatorConnection(new PathKey(1, 1), stream, new PathStaging(new Staging(registry)), withdraws);
    }

    void post(int count) {
      DataRequest request = new DataRequest();
      TransferPlan plan = TcpRig.plan(region, 0, region, 0, 4096);
      for (int i = 1; i <= count; i++) {
        boolean posted =
            switch (i) {
              case 1 -> connection.postData(i, request.set(Op.WRITE, 1, 0, plan, 0, 4096));
              case 3 -> connection.postMessage(i, ByteBuffer.allocate(8));
              default -> connection.postData(i, request.set(Op.READ, 1, 0, plan, 0, 4096));
            };
        assertThat(posted).isTrue();
      }
    }

    void send(byte[] bytes, int length) {
      try (Arena out = Arena.ofConfined()) {
        MemorySegment memory = out.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
        long n = length == 0 ? 0 : Sockets.send(fd, memory.address(), length);
        assertThat(n).isEqualTo(length);
      }
    }

    void poll() {
      connection.poll(events);
    }

    void pollUntil(int count) {
      long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (events.order.size() < count) {
        poll();
        if (System.nanoTime() > deadline) {
          throw new AssertionError("nothing more came: " + events);
        }
      }
    }

    void pollUntilFault() {
      long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
      while (events.fault == null) {
        poll();
        if (System.nanoTime() > deadline) {
          throw new AssertionError("no fault: " + events);
        }
      }
    }

    @Override
    public void close() {
      connection.close();
      Sockets.close(fd);
      region.close();
      guard.close();
      registry.close();
      arena.close();
    }
  }

  private static void drain(TcpConnection connection, Recorder events) {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    while (!connection.drained()) {
      connection.poll(events);
      if (System.nanoTime() > deadline) {
        throw new AssertionError("not drained: " + connection.describe());
      }
    }
  }

  /** How far the pattern has come, at a grain of a page. */
  private static long landed(Region region) {
    MemorySegment memory = region.segment();
    long at = 0;
    while (at < region.length() && memory.get(ValueLayout.JAVA_BYTE, at) == Pattern.at(4, at)) {
      at += 4096;
    }
    return Math.min(at, region.length());
  }
}
