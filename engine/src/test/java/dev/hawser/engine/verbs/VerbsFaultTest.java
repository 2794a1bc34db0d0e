/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.TransferEnd;
import dev.hawser.engine.TransferEnd.Cause;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider.Outcome;
import dev.hawser.engine.testkit.verbs.FakeDevice;
import dev.hawser.engine.testkit.verbs.FakeQueuePair;
import dev.hawser.engine.testkit.verbs.FakeVerbs;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsAbi.Opcode;
import dev.hawser.engine.verbs.abi.VerbsAbi.WcStatus;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import dev.hawser.engine.verbs.abi.WcStatuses;
import dev.hawser.memory.Access;
import dev.hawser.memory.BindFailure;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What goes wrong with devices, ports, keys and queue pairs, and what the engineer is told.
 *
 * <ul>
 *   <li>no device: {@link #noDevice}, {@link #noDeviceOfThatName}, {@link #aKernelWithoutInfiniBand}
 *   <li>port down: {@link #everyPortDown}, {@link #everyPortDownAtThePeer}, {@link #meanwhileTcpCarriesAndThenVerbs},
 *       {@link #aPortThatIsDownAtTheStart}, {@link #aPortThatGoesDownAndUp}
 *   <li>wrong GID index: {@link #aWrongGidIndex}
 *   <li>MTU: {@link #anMtuThatThePortDoesNotHave}; of two that differ the lower holds: {@link #theLowerMtuAndFewerReadsHold}
 *   <li>a revoked key: {@link #aRevokedKey}; a range out of bounds: {@link #aRangeOutOfBounds}
 *   <li>too little locked memory: {@link #tooLittleLockedMemory}, {@link #tooLittleLockedMemoryForItsOwnBuffers}
 *   <li>a queue pair that the peer destroyed: {@link #aQueuePairThatThePeerDestroyed}
 *   <li>wrong settings: {@link #wrongSettings}
 * </ul>
 */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class VerbsFaultTest {
  private FakeVerbs verbs;
  private FakeDevice here;
  private FakeDevice there;

  @BeforeEach
  void install() {
    verbs = new FakeVerbs(2);
    here = verbs.device(0);
    there = verbs.device(1);
    VerbsLibrary.install(VerbsLibrary.of("the fake libibverbs", verbs.symbols()));
  }

  @AfterEach
  void giveBack() {
    VerbsLibrary.install(null);
    assertThat(verbs.violations()).isEmpty();
    assertThat(verbs.leftovers()).isEmpty();
    verbs.close();
  }

  // ------------------------------------------------------------------ what is found, or not

  private String absent(Map<String, String> settings) {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      Outcome outcome =
          new VerbsTransportProvider()
              .create(new TransportContext(registry, "agent", 1, List.of("127.0.0.1"), settings));
      if (outcome instanceof Outcome.Present(var transport)) {
        transport.close();
        throw new AssertionError("it is there, with " + settings);
      }
      return outcome instanceof Outcome.Absent(String reason) ? reason : "";
    }
  }

  @Test
  void noDevice() {
    FakeVerbs none = new FakeVerbs(0);
    VerbsLibrary.install(VerbsLibrary.of("a libibverbs without devices", none.symbols()));
    assertThat(absent(Map.of())).contains("no RDMA device").contains("ibverbs-providers");
    none.close();
  }

  @Test
  void aKernelWithoutInfiniBand() {
    verbs.refuse("ibv_get_device_list", 38, 1);
    assertThat(absent(Map.of())).contains("ENOSYS").contains("ib_uverbs");
  }

  @Test
  void aLibraryThatLacksAFunction() {
    verbs.without("ibv_create_srq");
    assertThatThrownBy(() -> VerbsLibrary.of("an old libibverbs", verbs.symbols()))
        .hasMessageContaining("ibv_create_srq")
        .hasMessageContaining("an old libibverbs");
  }

  @Test
  void aDeviceThatMayNotBeOpened() {
    verbs.refuse("ibv_open_device", 13, 2);
    assertThat(absent(Map.of())).contains("fake_0").contains("EACCES").contains("/dev/infiniband");
  }

  @Test
  void everyPortDown() {
    byte[] address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (byte) 0xff, (byte) 0xff, 10, 77, 8, 8};
    here.portDown();
    here.gid(0, null, 0).gid(1, null, 0);
    try (FakePair pair = new FakePair(1);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      assertThat(pair.awaitFault("DOWN")).contains("fake_0 port 1 is DOWN").contains("cable");
      assertThat(pair.initiator().absentTransports().get("verbs"))
          .contains("no port is active now")
          .contains("fake_0 port 1 is DOWN")
          .contains("cable");
      assertThat(pair.target().absentTransports()).doesNotContainKey("verbs");

      here.gid(1, address, VerbsAbi.GidType.ROCE_V2);
      here.portUp();
      pair.up(1);
      assertThat(pair.initiator().absentTransports()).doesNotContainKey("verbs");
      paint(local, 6);
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true));
      assertThat(remote.segment().mismatch(local.segment())).isEqualTo(-1);
    }
  }

  @Test
  void everyPortDownAtThePeer() {
    there.portDown();
    try (FakePair pair = new FakePair(1)) {
      assertThat(pair.awaitFault("DOWN")).contains("refused").contains("fake_1 port 1 is DOWN");
      assertThat(pair.target().absentTransports().get("verbs")).contains("fake_1 port 1 is DOWN");
      there.portUp();
      pair.up(1);
    }
  }

  @Test
  void meanwhileTcpCarriesAndThenVerbs() {
    here.portDown();
    try (FakePair pair = new FakePair(1, List.of("verbs", "tcp")).up(1);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      assertThat(pair.link().paths()).filteredOn(Link.PathReport::up).extracting(Link.PathReport::transport)
          .containsOnly("tcp");
      assertThat(pair.link().unused().get("verbs")).contains("fake_0 port 1 is DOWN");
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true));
      assertThat(here.counters().bytesWritten()).isZero();

      here.portUp();
      FakePair.until("a path over verbs is up", () -> pair.link().paths().stream()
          .anyMatch(path -> path.up() && path.transport().equals("verbs")));
      paint(local, 7);
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true));
      assertThat(remote.segment().mismatch(local.segment())).isEqualTo(-1);
      assertThat(here.counters().bytesWritten()).as("bytes over verbs").isEqualTo(1 << 20);
    }
  }

  @Test
  void aWrongGidIndex() {
    assertThat(absent(Map.of("gid-index", "5"))).contains("gid-index").contains("5").contains("fake_0");
  }

  @Test
  void noDeviceOfThatName() {
    assertThat(absent(Map.of("devices", "mlx5_7"))).contains("fake_0 is not among verbs.devices");
  }

  @Test
  void anAdapterWithoutReliableConnections() {
    here.withoutReliableConnections();
    there.withoutReliableConnections();
    assertThat(absent(Map.of())).contains("reliable connected");
  }

  @Test
  void anAmazonAdapter() {
    here.vendor(0x1d0f);
    there.vendor(0x1d0f);
    assertThat(absent(Map.of()))
        .contains("fake_0 is an EFA adapter")
        .contains("no reliable connected queue pairs")
        .contains("SRD")
        .contains("tcp is used");
  }

  @Test
  void aDeviceWithoutSharedReceiveQueues() {
    here.withoutSharedQueues();
    assertThat(absent(Map.of("devices", "fake_0"))).contains("fake_0 has no shared receive queues");
    assertThat(absent(Map.of("devices", "^fake_1")))
        .contains("fake_0 has no shared receive queues")
        .contains("fake_1 is excluded by verbs.devices=^fake_1");
    try (FakePair pair = new FakePair(1, Map.of("verbs.devices", "fake_*"), Map.of()).up(1)) {
      assertThat(pair.link().paths()).as("paths on the other device only").hasSize(1);
    }
  }

  @Test
  void tooLittleLockedMemoryForItsOwnBuffers() {
    verbs.refuse("ibv_reg_mr_iova2", 12, 2);
    assertThat(absent(Map.of())).contains("ENOMEM").contains("ulimit -l");
  }

  @Test
  void anMtuThatThePortDoesNotHave() {
    here.mtu(VerbsAbi.Mtu.BYTES_1024);
    there.mtu(VerbsAbi.Mtu.BYTES_1024);
    assertThat(absent(Map.of("mtu", "4096"))).contains("verbs.mtu=4096").contains("1024");
  }

  @ParameterizedTest
  @CsvSource({"gid-index,x,whole number", "timeout,32,from 1 to 31", "mtu,1000,512", "retry-count,-1,from 0 to 7",
      "relaxed-ordering,yes,true nor false", "slice-bytes,5000,from 65536 to", "gid-idx,verbs.gid-index,not known"})
  void wrongSettings(String name, String value, String part) {
    assertThat(absent(Map.of(name, value))).contains("verbs." + name).contains(value).contains(part);
  }

  // ------------------------------------------------------------------ what is negotiated

  @Test
  void theLowerMtuAndFewerReadsHold() {
    here.mtu(VerbsAbi.Mtu.BYTES_1024).reads(2);
    there.reads(8);
    try (FakePair pair = new FakePair(1).up(1);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      FakePair.done(pair.whole(Op.READ, local, FakePair.known(remote)));
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)));
    }
  }

  @Test
  void anOldLibraryWithoutOptionalAccess() {
    verbs.without("ibv_reg_mr_iova2").without("_ibv_query_gid_ex");
    VerbsLibrary.install(VerbsLibrary.of("an old libibverbs", verbs.symbols()));
    try (FakePair pair = new FakePair(1).up(1);
        Region local = pair.local(4096);
        Region remote = pair.remote(4096)) {
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)));
    }
  }

  @Test
  void memoryBeyondTheDevicesLimitIsRegisteredInSlices() {
    here.maxRegionBytes(4 << 20);
    there.maxRegionBytes(3 << 20);
    try (FakePair pair = new FakePair(1).up(1);
        Region local = pair.local(16 << 20);
        Region remote = pair.remote(16 << 20)) {
      paint(local, 1);
      BlockList from = BlockList.of(local.address() + 12345, 15 << 20);
      BlockList to = BlockList.of(remote.address() + 321, 15 << 20);
      FakePair.done(pair.transfer(Op.WRITE, local, from, FakePair.known(remote), to).flush(true));
      assertThat(remote.segment().asSlice(321, 15 << 20).mismatch(local.segment().asSlice(12345, 15 << 20)))
          .isEqualTo(-1);
    }
  }

  // ------------------------------------------------------------------ keys

  @Test
  void aRevokedKey() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(4096)) {
      RemoteRegion closed;
      try (Region remote = pair.remote(4096)) {
        closed = FakePair.known(remote);
      }
      TransferEnd.Failed failed = FakePair.failed(pair.whole(Op.WRITE, local, closed).requestId("late"));
      assertThat(failed.cause()).isEqualTo(Cause.REMOTE_ACCESS);
      assertThat(failed.message()).contains("late").contains("target");
      assertThat(pair.awaitFault("REM_ACCESS_ERR (10)"))
          .contains("key, the range and the permission")
          .contains("vendor error 0x88")
          .contains("target")
          .contains("fake_0")
          .contains("10.77.0.1")
          .contains("10.77.0.2")
          .containsPattern("QP 0x[0-9a-f]+ to 0x[0-9a-f]+");
    }
  }

  @Test
  void aRangeOutOfBounds() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(8192);
        Region remote = pair.remote(4096)) {
      RemoteRegion honest = FakePair.known(remote);
      RemoteRegion forged =
          new RemoteRegion(
              honest.id(), honest.address(), 8192, honest.device(), honest.access(), honest.keys());
      assertThat(FakePair.failed(pair.whole(Op.WRITE, local, forged)).cause()).isEqualTo(Cause.REMOTE_ACCESS);
      assertThat(FakePair.failed(pair.whole(Op.READ, local, forged)).cause()).isEqualTo(Cause.REMOTE_ACCESS);
      assertThat(pair.awaitFault("REM_ACCESS_ERR (10)")).contains("the range").contains("fake_0");
      FakePair.done(
          pair.transfer(
              Op.WRITE, local, BlockList.of(local.address(), 4096), honest, BlockList.of(honest.address(), 4096)));
    }
  }

  @Test
  void tooLittleLockedMemory() {
    try (FakePair pair = new FakePair(1).up(1)) {
      verbs.refuse("ibv_reg_mr_iova2", 12, Integer.MAX_VALUE); // whatever connections register meanwhile
      try (Region refused = pair.here().allocate(4096, Access.REMOTE_READ_WRITE)) {
        assertThat(refused.remoteKeys()).as("keys of what could not be registered").isEmpty();
        assertThat(refused.registration().failures())
            .singleElement()
            .extracting(BindFailure::reason)
            .asString()
            .contains("ENOMEM")
            .contains("ulimit -l unlimited")
            .contains("fake_0");
      }
      verbs.allow("ibv_reg_mr_iova2");
      try (Region taken = pair.here().allocate(4096, Access.REMOTE_READ_WRITE)) {
        assertThat(taken.remoteKeys()).hasSize(1);
      }
    }
  }

  // ------------------------------------------------------------------ paths

  @Test
  void aQueuePairThatThePeerDestroyed() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      paint(local, 3);
      FakeQueuePair gone = initiators().getFirst();
      peerOf(gone).vanish();
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true));
      assertThat(remote.segment().mismatch(local.segment())).isEqualTo(-1);
      assertThat(pair.awaitFault("RETRY_EXC_ERR (12)"))
          .contains("did not answer")
          .contains("MTU")
          .contains("4791")
          .contains("last success");
      pair.up(2);
    }
  }

  static IntStream statuses() {
    return IntStream.rangeClosed(WcStatus.LOC_LEN_ERR, WcStatus.GENERAL_ERR);
  }

  @ParameterizedTest
  @MethodSource("statuses")
  void everyStatusIsTold(int status) {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(64 << 10);
        Region remote = pair.remote(64 << 10)) {
      paint(local, status);
      here.failNext(Opcode.RDMA_WRITE, status, 0xabc);
      Transfer transfer = pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true);
      transfer.post();
      assertThat(transfer.await(FakePair.PATIENCE)).isTrue();
      if (transfer.end() instanceof TransferEnd.Done) {
        assertThat(remote.segment().mismatch(local.segment())).isEqualTo(-1);
      }
      String fault = pair.awaitFault(WcStatuses.describe(status));
      assertThat(fault).contains("vendor error 0xabc").contains("fake_0").contains("target").contains("10.77.0.2");
      assertThat(fault).contains(WcStatuses.hint(status));
      if (status == WcStatus.RETRY_EXC_ERR
          || status == WcStatus.WR_FLUSH_ERR
          || status == WcStatus.REM_INV_REQ_ERR) {
        assertThat(transfer.end()).as("replayed on the other path").isEqualTo(new TransferEnd.Done());
      }
      pair.up(2);
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true));
      assertThat(remote.segment().mismatch(local.segment())).isEqualTo(-1);
    }
  }

  @Test
  void aPostThatTheDeviceRefusesHalfway() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      paint(local, 9);
      here.refusePost(3, 12);
      BlockList from = BlockList.strided(local.address(), 2048, 1024, 512);
      BlockList to = BlockList.strided(remote.address(), 2048, 1024, 512);
      FakePair.done(pair.transfer(Op.WRITE, local, from, FakePair.known(remote), to).flush(true));
      assertThat(pair.awaitFault("ibv_post_send")).contains("ENOMEM");
    }
  }

  @Test
  void shortPollsLoseNothing() {
    here.shortPolls(1);
    there.shortPolls(1);
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      for (int i = 0; i < 100; i++) {
        FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)).notification(new byte[16]));
      }
    }
  }

  // ------------------------------------------------------------------ asynchronous events

  @Test
  void aPortThatGoesDownAndUp() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(4096);
        Region remote = pair.remote(4096)) {
      here.portDown();
      assertThat(pair.awaitFault("PORT_ERR")).contains("port 1 is DOWN").contains("fake_0");
      here.portUp();
      pair.up(2);
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)));
    }
  }

  @Test
  void aPortThatIsDownAtTheStart() {
    FakeVerbs four = new FakeVerbs(4);
    VerbsLibrary.install(VerbsLibrary.of("a libibverbs with four devices", four.symbols()));
    FakeDevice late = four.device(2);
    byte[] address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (byte) 0xff, (byte) 0xff, 10, 77, 8, 8};
    late.portDown();
    late.gid(0, null, 0).gid(1, null, 0).mtu(VerbsAbi.Mtu.BYTES_256);
    try (FakePair pair =
        new FakePair(1, Map.of("verbs.devices", "fake_0,fake_2", "verbs.mtu", "1024"),
            Map.of("verbs.devices", "fake_1,fake_3")).up(1);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      assertThat(pair.awaitFault("fake_2")).contains("port 1 is DOWN").contains("cable");
      assertThat(pair.upPaths()).isEqualTo(1);
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)));

      late.gid(1, address, VerbsAbi.GidType.ROCE_V2).mtu(VerbsAbi.Mtu.BYTES_4096);
      late.portUp();
      pair.up(2);
      paint(local, 4);
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true));
      assertThat(remote.segment().mismatch(local.segment())).isEqualTo(-1);
      assertThat(late.counters().bytesWritten()).as("bytes by the rail that came up").isPositive();
    } finally {
      VerbsLibrary.install(VerbsLibrary.of("the fake libibverbs", verbs.symbols()));
      assertThat(four.violations()).isEmpty();
      assertThat(four.leftovers()).isEmpty();
      four.close();
    }
  }

  @Test
  void aQueuePairIsGivenBackBesideTheWork() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(4096);
        Region remote = pair.remote(4096)) {
      FakeQueuePair broken = initiators().getFirst();
      verbs.hold("ibv_destroy_qp");
      broken.breakDown();
      pair.awaitFault("QP_FATAL");
      pair.up(2); // the path has a new generation
      for (int i = 0; i < 100; i++) {
        FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)));
      }
      assertThat(here.queuePairs()).as("its driver has not let go of it").contains(broken);
      verbs.release("ibv_destroy_qp");
      FakePair.until("it is given back", () -> !here.queuePairs().contains(broken));
    }
  }

  @Test
  void aGidThatChanges() {
    try (FakePair pair = new FakePair(1).up(1);
        Region local = pair.local(4096);
        Region remote = pair.remote(4096)) {
      byte[] moved = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (byte) 0xff, (byte) 0xff, 10, 77, 9, 9};
      here.gid(1, moved, VerbsAbi.GidType.ROCE_V2);
      here.event(VerbsAbi.EventType.GID_CHANGE);
      assertThat(pair.awaitFault("GID_CHANGE")).contains("10.77.9.9");
      pair.up(1);
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)));
    }
  }

  @Test
  void aQueuePairThatBreaks() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(4096);
        Region remote = pair.remote(4096)) {
      initiators().getFirst().breakDown();
      pair.awaitFault("QP_FATAL");
      FakePair.done(pair.whole(Op.WRITE, local, FakePair.known(remote)));
      pair.up(2);
    }
  }

  @Test
  void aDeviceThatFails() {
    try (FakePair pair = new FakePair(2).up(2)) {
      here.event(VerbsAbi.EventType.DEVICE_FATAL);
      assertThat(pair.awaitFault("DEVICE_FATAL")).contains("device fake_0 failed");
    }
  }

  @Test
  void aSilentCutIsNoticedAndMended() {
    try (FakePair pair = new FakePair(2).up(2);
        Region local = pair.local(1 << 20);
        Region remote = pair.remote(1 << 20)) {
      paint(local, 5);
      there.cut();
      Transfer transfer = pair.whole(Op.WRITE, local, FakePair.known(remote)).flush(true);
      transfer.post();
      pair.awaitFault("RETRY_EXC_ERR (12)");
      there.mend();
      assertThat(transfer.await(FakePair.PATIENCE)).isTrue();
      assertThat(transfer.end()).isEqualTo(new TransferEnd.Done());
      assertThat(remote.segment().mismatch(local.segment())).isEqualTo(-1);
    }
  }

  // ------------------------------------------------------------------

  private List<FakeQueuePair> initiators() {
    return here.queuePairs().stream().filter(pair -> pair.peerNumber() != 0).toList();
  }

  private FakeQueuePair peerOf(FakeQueuePair pair) {
    return there.queuePairs().stream()
        .filter(other -> other.number() == pair.peerNumber())
        .findFirst()
        .orElseThrow(() -> new AssertionError("no peer of " + pair));
  }

  private static void paint(Region region, int seed) {
    for (long i = 0; i < region.length(); i++) {
      region.segment().set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + (i >> 8) + seed));
    }
  }
}
