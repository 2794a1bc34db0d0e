/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.mapped.Host;
import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.PathSetup;
import dev.hawser.engine.spi.Reachability;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.spi.TransferPlan;
import dev.hawser.engine.spi.WorkStatus;
import dev.hawser.engine.testkit.TestStream;
import dev.hawser.memory.Access;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.BlockPairs;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.testkit.FakeCuda;
import dev.hawser.memory.testkit.FakeGpu;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Both ends of a path in one process, driven by hand, over a fake driver that opens its own process's handles. */
class GpuIpcPathTest {
  private static final int BYTES = 1 << 20;
  private static final long PATIENCE = Duration.ofSeconds(30).toNanos();
  private static final Duration CLOSE_DEADLINE = Duration.ofSeconds(20);

  private final FakeCuda cuda = new FakeCuda(new FakeGpu(2, 1L << 30));
  private final GpuMemory memory = cuda.start();
  private final MemoryRegistry here = registry();
  private final MemoryRegistry there = registry();
  private final GpuIpcTransport initiating;
  private final GpuIpcTransport targeted;
  private final Connection initiator;
  private final Connection target;
  private final Recorder atInitiator = new Recorder();
  private final Recorder atTarget = new Recorder();
  private final AtomicInteger starts = new AtomicInteger();
  private volatile String absence = "";
  private final DataRequest request = new DataRequest();

  GpuIpcPathTest() throws IOException {
    initiating = transport(here);
    targeted = transport(there);
    Reachability.Route route = new Reachability.Route(initiating.rails().getFirst(), "gpu-ipc");
    PathSetup offer = initiating.initiate(route, "peer", new PathKey(3, 7), targeted.description());
    PathSetup answer = targeted.accept("gpu-ipc", "peer", new PathKey(3, 7), offer.message());
    int[] sockets = Sockets.pair();
    initiator = offer.connect(answer.message(), new TestStream(sockets[0]));
    target = answer.connect(offer.message(), new TestStream(sockets[1]));
  }

  private MemoryRegistry registry() {
    return MemoryRegistry.builder().allocations(DeviceKind.CUDA, memory).closeDeadline(CLOSE_DEADLINE).build();
  }

  private GpuMemory start() {
    starts.incrementAndGet();
    if (!absence.isEmpty()) {
      throw new DeviceAbsentException(DeviceKind.CUDA, absence);
    }
    return memory;
  }

  private GpuIpcTransport transport(MemoryRegistry registry) throws IOException {
    // No process has the pid −1: handles are opened though they are this process's own.
    GpuIpcTransport transport =
        new GpuIpcTransport(
            Host.probe(false), registry, new GpuIpc(registry == here ? this::start : () -> memory, -1),
            GpuIpcSettings.of(Map.of("chunk-bytes", "1048576")));
    transport.bound(registry.addBinder(transport.binder()));
    return transport;
  }

  @AfterEach
  void letGo() {
    cuda.gpu().hold(false);
    initiator.abort();
    target.abort();
    pumpUntil(() -> initiator.drained() && target.drained());
    initiator.close();
    target.close();
    assertThat(cuda.gpu().openedCount()).as("handles that are still open").isZero();
    here.close();
    there.close();
    initiating.close();
    targeted.close();
    if (absence.isEmpty() && starts.get() > 0) {
      assertThat(initiating.gpus().pins().count()).as("ranges that are still pinned").isZero();
    }
  }

  @Test
  void opensAnAllocationOnceAndClosesItWhenItsOwnerWantsItBack() {
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    bytes(local).fill((byte) 7);
    for (int i = 1; i <= 3; i++) {
      post(i, Op.WRITE, local, published(remote));
      int work = i;
      pumpUntil(() -> atInitiator.ends.containsKey((long) work));
    }
    assertThat(atInitiator.ends).containsOnlyKeys(1L, 2L, 3L).containsValue(WorkStatus.SUCCESS);
    assertThat(bytes(local).mismatch(bytes(remote))).isEqualTo(-1);
    assertThat(cuda.gpu().calls("cuIpcOpenMemHandle_v2")).isOne();
    int allocations = cuda.gpu().callsOf("cuMemAlloc") + cuda.gpu().callsOf("cuMemHostAlloc");
    post(4, Op.READ, local, published(remote));
    pumpUntil(() -> atInitiator.ends.containsKey(4L));
    assertThat(cuda.gpu().callsOf("cuMemAlloc") + cuda.gpu().callsOf("cuMemHostAlloc")).isEqualTo(allocations);

    CompletableFuture<Void> closed = CompletableFuture.runAsync(remote::close);
    pumpUntil(closed::isDone);
    assertThat(closed).isCompleted();
    assertThat(cuda.gpu().openedCount()).isZero();
  }

  @Test
  void letsGoOnlyWhenItsStreamsAreIdle() {
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(1), Access.REMOTE_READ_WRITE);
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> atInitiator.ends.containsKey(1L));
    cuda.gpu().hold(true);
    post(2, Op.WRITE, local, published(remote));
    turn(); // the device has it now
    initiator.abort();
    target.abort();
    for (int i = 0; i < 1000; i++) {
      turn();
    }
    assertThat(initiator.drained()).isFalse();
    assertThat(target.drained()).isFalse();
    assertThat(cuda.gpu().openedCount()).isOne();
    cuda.gpu().hold(false);
    pumpUntil(() -> initiator.drained() && target.drained());
    assertThat(atInitiator.ends).containsEntry(2L, WorkStatus.FLUSHED);
  }

  @Test
  void anErrorOfTheDeviceFailsThePathWithItsNameAndNumber() {
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> atInitiator.ends.containsKey(1L));
    cuda.gpu().fail("cuMemcpyAsync", 700, 0);
    post(2, Op.WRITE, local, published(remote));
    pumpUntil(() -> !atInitiator.faults.isEmpty());
    assertThat(atInitiator.faults.getFirst().kind()).isEqualTo(PathFault.Kind.WORK_ERROR);
    assertThat(atInitiator.faults.getFirst().detail()).contains("CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  }

  @Test
  void aHandleThatTheDriverDoesNotOpenFailsThePath() {
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    cuda.gpu().fail("cuIpcOpenMemHandle_v2", 1, 0);
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> !atInitiator.faults.isEmpty());
    assertThat(atInitiator.faults.getFirst().detail())
        .contains("cannot be opened")
        .contains("CUDA_ERROR_INVALID_VALUE (1)");
  }

  @Test
  void aDeviceThatIsNotSeenHereIsNamed() {
    Region local = here.allocate(BYTES, Device.HOST, Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(1), Access.REMOTE_READ_WRITE);
    RemoteRegion honest = published(remote);
    GpuKey.OfDevice key = keyOf(honest);
    GpuKey other = new GpuKey.OfDevice(key.handle(), key.allocation(), key.bytes(), "0123456789abcdef0123456789abcdef");
    post(1, Op.WRITE, local, with(honest, other.encode()));
    pumpUntil(() -> !atInitiator.faults.isEmpty());
    assertThat(atInitiator.faults.getFirst().kind()).isEqualTo(PathFault.Kind.UNREACHABLE);
    assertThat(atInitiator.faults.getFirst().detail()).contains("CUDA_VISIBLE_DEVICES").contains("0123456789abcdef");
  }

  @Test
  void aKeyForAnotherAllocationIsRefusedBeforeAKernelTouchesIt() {
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    RemoteRegion honest = published(remote);
    GpuKey.OfDevice key = keyOf(honest);
    GpuKey other = new GpuKey.OfDevice(key.handle(), key.allocation() + BYTES, key.bytes(), key.uuid());
    post(1, Op.WRITE, local, with(honest, other.encode()));
    pumpUntil(() -> !atInitiator.faults.isEmpty());
    assertThat(atInitiator.faults.getFirst().detail()).contains("does not lie in the allocation");
    assertThat(cuda.gpu().calls("cuLaunchKernel")).isZero();
  }

  @Test
  void memoryThatCannotBeExportedIsNotBoundAndSaysWhichSettingWouldChangeThat() {
    long address = cuda.gpu().allocate(FakeGpu.Kind.VIRTUAL_EXPORTABLE, 0, BYTES);
    try (Region region = there.register(address, BYTES, Access.REMOTE_READ_WRITE)) {
      assertThat(region.registration().failures())
          .singleElement()
          .satisfies(
              failure -> {
                assertThat(failure.transport()).isEqualTo("gpu-ipc");
                assertThat(failure.reason()).contains("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False");
              });
    }
  }

  @Test
  void hostMemoryIsPinnedOnceOnEachSide() {
    Region local = here.allocate(BYTES, Device.HOST, Access.LOCAL);
    Region device = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    Region localDevice = here.allocate(BYTES, Device.cuda(1), Access.LOCAL);
    Region host = there.allocate(BYTES, Device.HOST, Access.REMOTE_READ_WRITE);
    bytes(local).fill((byte) 3);
    for (int i = 1; i <= 4; i += 2) {
      int work = i;
      post(work, Op.WRITE, local, published(device));
      pumpUntil(() -> atInitiator.ends.containsKey((long) work));
      post(work + 1L, Op.READ, localDevice, published(host));
      pumpUntil(() -> atInitiator.ends.containsKey(work + 1L));
    }
    assertThat(atInitiator.ends.values()).containsOnly(WorkStatus.SUCCESS);
    assertThat(bytes(device).mismatch(bytes(local))).isEqualTo(-1);
    assertThat(bytes(localDevice).mismatch(bytes(host))).isEqualTo(-1);
    assertThat(cuda.gpu().calls("cuMemHostRegister_v2")).isEqualTo(2);
  }

  @Test
  void signsOfLifeDoNotWaitForADeviceThatHangs() {
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> atInitiator.ends.containsKey(1L));
    cuda.gpu().hold(true);
    post(2, Op.WRITE, local, published(remote));
    for (int i = 0; i < 3; i++) {
      long fromInitiator = target.progress();
      long fromTarget = initiator.progress();
      assertThat(initiator.postMessage(0, ByteBuffer.allocate(16))).isTrue();
      pumpUntil(() -> target.progress() > fromInitiator && initiator.progress() > fromTarget);
    }
    assertThat(atTarget.messages).as("messages that overtook data").isZero();
    assertThat(atInitiator.ends).containsOnlyKeys(1L);
    cuda.gpu().hold(false);
    pumpUntil(() -> atTarget.messages == 3 && atInitiator.ends.containsKey(2L));
    assertThat(atInitiator.faults).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"cuIpcCloseMemHandle", "cuMemHostUnregister"})
  void aCallThatBlocksWhileLettingGoHoldsUpNothingButThat(String function) {
    Region local = here.allocate(BYTES, Device.HOST, Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    Region host = there.allocate(BYTES, Device.HOST, Access.REMOTE_READ_WRITE);
    Region localDevice = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    post(1, Op.WRITE, local, published(remote));
    post(2, Op.WRITE, localDevice, published(host));
    pumpUntil(() -> atInitiator.ends.containsKey(1L) && atInitiator.ends.containsKey(2L));
    cuda.gpu().block(function);
    initiator.abort();
    target.abort();
    pumpUntil(() -> cuda.gpu().isAnyBlocked());
    for (int i = 0; i < 1000; i++) {
      turn(); // on this thread, which nothing blocks
    }
    assertThat(initiator.drained()).isFalse();
    assertThat(target.drained()).isFalse();
    cuda.gpu().unblock();
    pumpUntil(() -> initiator.drained() && target.drained());
  }

  @Test
  void aPlanThatIsMadeAgainCostsOneLaunch() {
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    int blocks = BYTES / 4096;
    int[] order = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      order[i] = i * 7 % blocks;
    }
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(
                BlockList.strided(local.address(), 4096, 4096, blocks, local.device()),
                null,
                BlockList.strided(remote.address(), 4096, 4096, blocks, remote.device()),
                order),
            new Region[] {local},
            new RemoteRegion[] {published(remote)});
    for (int i = 0; i < blocks; i++) {
      bytes(local).asSlice(i * 4096L, 4096).fill((byte) (i * 31));
    }
    assertThat(initiator.postData(1, request.set(Op.WRITE, 1, 0, plan, 0, BYTES))).isTrue();
    pumpUntil(() -> atInitiator.ends.containsKey(1L));
    int launches = cuda.gpu().calls("cuLaunchKernel");
    int copies = cuda.gpu().calls("cuMemcpyAsync");
    bytes(remote).fill((byte) 0);
    assertThat(initiator.postData(2, request.set(Op.WRITE, 1, 0, plan, 0, BYTES))).isTrue();
    pumpUntil(() -> atInitiator.ends.containsKey(2L));
    assertThat(cuda.gpu().calls("cuLaunchKernel") - launches).isOne();
    assertThat(cuda.gpu().calls("cuMemcpyAsync") - copies).as("tables that were made anew").isZero();
    for (int i = 0; i < blocks; i++) {
      assertThat(bytes(remote).asSlice(order[i] * 4096L, 4096).mismatch(bytes(local).asSlice(i * 4096L, 4096)))
          .as("block %d", i)
          .isEqualTo(-1);
    }
    // The same, the other way.
    bytes(local).fill((byte) 0);
    assertThat(initiator.postData(3, request.set(Op.READ, 1, 0, plan, 0, BYTES))).isTrue();
    pumpUntil(() -> atInitiator.ends.containsKey(3L));
    assertThat(cuda.gpu().calls("cuMemcpyAsync") - copies).isZero();
    assertThat(bytes(local).get(ValueLayout.JAVA_BYTE, 4096L)).isEqualTo((byte) 31);
    assertThat(cuda.gpu().callsOf("cuMemFree")).as("what would wait for the whole device").isZero();
  }

  @Test
  void hostMemoryThatCannotBePinnedIsCopiedByTheDriverWithoutBlockingThePath() {
    Region local = here.allocate(BYTES, Device.HOST, Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    bytes(local).fill((byte) 9);
    cuda.gpu().fail("cuMemHostRegister_v2", 801, 0);
    cuda.gpu().block("cuMemcpyAsync");
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> cuda.gpu().isAnyBlocked());
    for (int i = 0; i < 1000; i++) {
      turn();
    }
    assertThat(atInitiator.ends).isEmpty();
    cuda.gpu().unblock();
    pumpUntil(() -> atInitiator.ends.containsKey(1L));
    assertThat(atInitiator.ends).containsEntry(1L, WorkStatus.SUCCESS);
    assertThat(bytes(remote).mismatch(bytes(local))).isEqualTo(-1);
  }

  @Test
  void betweenDevicesThatCannotAddressEachOtherTheDriverCopiesAndNoKernel() {
    cuda.gpu().setApart();
    Region local = here.allocate(BYTES, Device.cuda(0), Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(1), Access.REMOTE_READ_WRITE);
    int launches = cuda.gpu().calls("cuLaunchKernel");
    bytes(local).fill((byte) 4);
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> atInitiator.ends.containsKey(1L));
    assertThat(bytes(remote).mismatch(bytes(local))).isEqualTo(-1);
    bytes(remote).fill((byte) 5);
    post(2, Op.READ, local, published(remote));
    pumpUntil(() -> atInitiator.ends.containsKey(2L));
    assertThat(bytes(local).mismatch(bytes(remote))).isEqualTo(-1);
    assertThat(atInitiator.ends).containsValues(WorkStatus.SUCCESS).doesNotContainValue(WorkStatus.FLUSHED);
    assertThat(atInitiator.faults).isEmpty();
    assertThat(cuda.gpu().calls("cuLaunchKernel") - launches).as("kernels, which would end the device").isZero();
  }

  @Test
  void theDriverIsNotTouchedForHostMemory() {
    Region local = here.allocate(BYTES, Device.HOST, Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.HOST, Access.REMOTE_READ_WRITE);
    bytes(local).fill((byte) 5);
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> atInitiator.ends.containsKey(1L));
    assertThat(bytes(remote).mismatch(bytes(local))).isEqualTo(-1);
    assertThat(starts).as("how often the driver was started").hasValue(0);
  }

  @Test
  void aDriverThatDoesNotStartFailsThePathWithTheReason() {
    Region local = here.allocate(BYTES, Device.HOST, Access.LOCAL);
    Region remote = there.allocate(BYTES, Device.cuda(0), Access.REMOTE_READ_WRITE);
    absence = "the driver is too old";
    post(1, Op.WRITE, local, published(remote));
    pumpUntil(() -> !atInitiator.faults.isEmpty());
    assertThat(atInitiator.faults.getFirst().kind()).isEqualTo(PathFault.Kind.UNREACHABLE);
    assertThat(atInitiator.faults.getFirst().detail()).contains("the driver is too old");
  }

  // ------------------------------------------------------------------------------------------ the rig

  private void post(long work, Op op, Region local, RemoteRegion remote) {
    TransferPlan plan =
        new TransferPlan(
            BlockPairs.of(
                BlockList.strided(local.address(), 4096, 4096, BYTES / 4096),
                BlockList.strided(remote.address(), 4096, 4096, BYTES / 4096)),
            new Region[] {local},
            new RemoteRegion[] {remote});
    assertThat(initiator.postData(work, request.set(op, 1, 0, plan, 0, BYTES))).isTrue();
  }

  private static RemoteRegion published(Region region) {
    Map<String, byte[]> keys = new HashMap<>();
    region.remoteKeys().forEach(key -> keys.put(key.transport(), key.bytes()));
    return new RemoteRegion(region.id(), region.address(), region.length(), region.device(), region.access(), keys);
  }

  private static GpuKey.OfDevice keyOf(RemoteRegion region) {
    byte[] key = region.keys().get("gpu-ipc");
    assertThat(key).isNotNull();
    return (GpuKey.OfDevice) GpuKey.decode(Objects.requireNonNull(key));
  }

  private static RemoteRegion with(RemoteRegion region, byte[] key) {
    return new RemoteRegion(
        region.id(), region.address(), region.length(), region.device(), region.access(), Map.of("gpu-ipc", key));
  }

  @SuppressWarnings("restricted") // a fake device's memory is the process's
  private static MemorySegment bytes(Region region) {
    return MemorySegment.ofAddress(region.address()).reinterpret(region.length());
  }

  private int turn() {
    initiator.flushPosted();
    target.flushPosted();
    return initiator.poll(atInitiator) + target.poll(atTarget);
  }

  private void pumpUntil(BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE;
    while (!condition.getAsBoolean()) {
      turn();
      if (System.nanoTime() - deadline > 0) {
        throw new AssertionError(
            "waited in vain; ended " + atInitiator.ends + ", faults " + atInitiator.faults + atTarget.faults);
      }
    }
  }

  private static final class Recorder implements ConnectionEvents {
    final Map<Long, WorkStatus> ends = new HashMap<>();
    final List<PathFault> faults = new ArrayList<>();
    int messages;

    @Override
    public void completed(Connection connection, long workId, WorkStatus status, long detail) {
      assertThat(ends.put(workId, status)).as("work %d ended before", workId).isNull();
    }

    @Override
    public void flushArrived(Connection connection, long transfer, boolean abort) {
      throw new AssertionError("nobody flushed");
    }

    @Override
    public void received(Connection connection, ByteBuffer message) {
      messages++;
    }

    @Override
    public void failed(Connection connection, PathFault fault) {
      faults.add(fault);
    }
  }
}
