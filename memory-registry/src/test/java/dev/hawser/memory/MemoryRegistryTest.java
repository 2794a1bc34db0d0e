/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.ffi.PageMappings;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

@SuppressWarnings("MustBeClosedChecker") // when an arena can be closed is what is tested
class MemoryRegistryTest {
  private static final AllocationOptions BASE = AllocationOptions.DEFAULT.withHugePages(HugePages.NO);

  private final RecordingBinder verbs = new RecordingBinder("verbs");
  private final RecordingBinder shm = new RecordingBinder("shm");
  private MemoryRegistry registry = MemoryRegistry.create();

  @AfterEach
  void nothingIsLeft() {
    registry.close(Duration.ZERO);
    assertThat(verbs.bound).isEmpty();
    assertThat(shm.bound).isEmpty();
    assertThat(verbs.mistakes).isEmpty();
    assertThat(shm.mistakes).isEmpty();
    assertThat(registry.registrationCount()).isZero();
    assertThat(registry.regions()).isEmpty();
  }

  @Test
  void tenThousandRegionsInOneAllocationCostOneBind() {
    registry.addBinder(verbs);
    registry.addBinder(shm);
    Region whole = registry.allocate(10_000 * 64, Access.REMOTE_READ_WRITE, BASE);
    List<Region> blocks = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      Region block = registry.register(whole.address() + i * 64L, 64, Device.HOST, Access.REMOTE_READ);
      assertThat(block.registration()).isSameAs(whole.registration());
      blocks.add(block);
    }

    assertThat(verbs.binds).hasValue(1);
    assertThat(shm.binds).hasValue(1);
    assertThat(registry.registrationCount()).isEqualTo(1);
    assertThat(whole.close(Duration.ZERO).registrationReleased()).isFalse();
    for (Region block : blocks.subList(1, blocks.size())) {
      assertThat(block.close(Duration.ZERO).registrationReleased()).isFalse();
    }
    assertThat(verbs.unbinds).hasValue(0);
    assertThat(blocks.getFirst().close(Duration.ZERO).registrationReleased()).isTrue();
    assertThat(verbs.unbinds).hasValue(1);
  }

  @Test
  void exactRangesGetARegistrationEach() {
    registry = MemoryRegistry.builder().exactRanges(true).build();
    registry.addBinder(verbs);
    Region whole = registry.allocate(4096, Access.REMOTE_READ_WRITE, BASE);
    Region part = registry.register(whole.address() + 64, 64, Device.HOST, Access.REMOTE_READ);

    assertThat(verbs.binds).hasValue(2);
    assertThat(part.registration().length()).isEqualTo(64);
    assertThat(part.registration().access()).isEqualTo(Access.REMOTE_READ);
    whole.close();
    part.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1); // the allocation lives as long as any region in it
    assertThat(part.close(Duration.ZERO).registrationReleased()).isTrue();
  }

  @Test
  void moreAccessThanTheRegistrationHasNeedsAnother() {
    registry.addBinder(verbs);
    Region local = registry.allocate(4096, Access.LOCAL, BASE);
    Region shared = registry.register(local.address(), 4096, Device.HOST, Access.REMOTE_WRITE);

    assertThat(shared.registration()).isNotSameAs(local.registration());
    assertThat(verbs.binds).hasValue(2);
    Region again = registry.register(local.address() + 8, 8, Device.HOST, Access.REMOTE_WRITE);
    assertThat(again.registration()).isSameAs(shared.registration());
    assertThat(verbs.binds).hasValue(2);
  }

  @Test
  void findsTheInnermostRegionThatGrantsWhatIsAsked() {
    Region outer = registry.allocate(4096, Access.REMOTE_READ_WRITE, BASE);
    long base = outer.address();
    Region inner = registry.register(base + 100, 200, Device.HOST, Access.REMOTE_READ);

    assertThat(registry.find(base + 150, 50)).containsSame(inner);
    assertThat(registry.find(base + 150, 50, Access.REMOTE_WRITE)).containsSame(outer);
    assertThat(registry.find(base + 250, 51)).containsSame(outer);
    assertThat(registry.find(base, 4096)).containsSame(outer);
    assertThat(registry.find(base, 4097)).isEmpty();
    assertThat(registry.find(base - 1, 1)).isEmpty();
    assertThat(registry.find(base, -1)).isEmpty();
    assertThat(registry.byId(inner.id())).isSameAs(inner);
    assertThat(registry.byId(0)).isNull();
    assertThat(registry.byId(-1)).isNull();
    inner.close();
    assertThat(registry.byId(inner.id())).isNull();
    assertThat(registry.find(base + 150, 50)).containsSame(outer);
  }

  @Test
  void idsAreNeverGivenTwice() {
    Region whole = registry.allocate(4096, Access.LOCAL, BASE);
    int last = whole.id();
    for (int i = 0; i < 5000; i++) {
      Region region = registry.register(whole.address(), 8, Device.HOST, Access.LOCAL);
      assertThat(region.id()).isEqualTo(last + 1);
      assertThat(registry.byId(region.id())).isSameAs(region);
      last = region.id();
      region.close();
      assertThat(registry.byId(last)).isNull();
    }
    assertThat(registry.byId(whole.id())).isSameAs(whole);
  }

  @Test
  void aTransportAddedLaterBindsWhatIsThere() {
    Region before = registry.allocate(4096, Access.REMOTE_READ, BASE);
    List<Region> changed = new ArrayList<>();
    registry.addListener(
        new RegistryListener() {
          @Override
          public void keysChanged(Region region) {
            changed.add(region);
          }
        });
    int index = registry.addBinder(verbs);
    Region after = registry.allocate(4096, Access.REMOTE_READ, BASE);

    assertThat(before.binding(index)).isEqualTo("local of verbs");
    assertThat(after.binding(index)).isEqualTo("local of verbs");
    assertThat(before.remoteKeys()).extracting(RemoteKey::transport).containsExactly("verbs");
    assertThat(before.registration().remoteKey(index))
        .isEqualTo("verbs".getBytes(java.nio.charset.StandardCharsets.UTF_8));
    assertThat(before.binding(index + 1)).isNull();
    assertThat(changed).containsExactly(before);

    assertThat(registry.removeBinder(verbs)).isEmpty();
    assertThat(verbs.unbinds).hasValue(2);
    assertThat(before.binding(index)).isNull();
    assertThat(before.remoteKeys()).isEmpty();
    assertThat(registry.addBinder(verbs)).as("an index means one transport for ever").isGreaterThan(index);
    assertThat(before.binding(index)).isNull();
  }

  @Test
  void oneTransportsFailureIsReportedAndLosesNoOther() {
    verbs.bindFailure = "ibv_reg_mr failed: ENOMEM (Cannot allocate memory)";
    int verbsIndex = registry.addBinder(verbs);
    int shmIndex = registry.addBinder(shm);
    List<BindFailure> heard = new ArrayList<>();
    registry.addListener(
        new RegistryListener() {
          @Override
          public void bindFailed(Registration registration, BindFailure failure) {
            heard.add(failure);
          }
        });
    Region region = registry.allocate(4096, Access.REMOTE_READ, BASE);

    assertThat(region.binding(verbsIndex)).isNull();
    assertThat(region.binding(shmIndex)).isEqualTo("local of shm");
    assertThat(region.registration().failures()).hasSize(1).isEqualTo(heard);
    assertThat(heard.getFirst().transport()).isEqualTo("verbs");
    assertThat(heard.getFirst().reason()).contains("ENOMEM");
    region.close();
    assertThat(verbs.unbinds).as("what was never bound").hasValue(0);
  }

  @Test
  void memoryThatATransportDoesNotLetGoStaysMapped() {
    registry.addBinder(verbs);
    Region region = registry.allocate(4096, Access.REMOTE_READ, BASE);
    MemorySegment memory = region.segment();
    verbs.unbindFailure = "EBUSY";

    CloseResult result = region.close(Duration.ZERO);
    assertThat(result.quarantined()).isTrue();
    assertThat(result.failures().getFirst().reason()).isEqualTo("EBUSY");
    memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
    assertThatThrownBy(() -> registry.close(Duration.ZERO))
        .isInstanceOf(RegistrationException.class)
        .hasMessageContaining("EBUSY");
    memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 2);

    verbs.unbindFailure = null;
    registry.close(Duration.ZERO);
    assertThatThrownBy(() -> memory.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aUsedRegionIsNotClosedUnderItsUser() {
    Region region = registry.allocate(4096, Access.REMOTE_READ, BASE);
    assertThat(region.tryRetain()).isTrue();

    assertThatThrownBy(() -> region.close(Duration.ofMillis(20)))
        .isInstanceOf(RegionInUseException.class)
        .hasMessageContaining("region " + region.id())
        .hasMessageContaining("used by transfers, 1 use, 20 ms after")
        .hasMessageContaining("close it again");
    assertThat(region.isClosing()).isTrue();
    assertThat(region.isClosed()).isFalse();
    assertThat(region.tryRetain()).isFalse();
    assertThat(registry.find(region.address(), 8)).isEmpty();
    assertThat(registry.byId(region.id())).isSameAs(region);
    region.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
    assertThatThrownBy(() -> registry.close(Duration.ZERO)).isInstanceOf(RegionInUseException.class);

    region.release();
    CloseResult result = region.close(Duration.ZERO);
    assertThat(result.registrationReleased()).isTrue();
    assertThat(region.close(Duration.ZERO)).isSameAs(result);
    assertThat(region.isClosed()).isTrue();
    assertThatThrownBy(() -> region.segment().get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(region::release).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aCloseGoesOnAsSoonAsTheLastUseEnds() throws Exception {
    Region region = registry.allocate(4096, Access.REMOTE_READ, BASE);
    assertThat(region.tryRetain()).isTrue();
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<CloseResult> one = executor.submit(() -> region.close(Duration.ofSeconds(60)));
      Future<CloseResult> two = executor.submit(() -> region.close(Duration.ofSeconds(60)));
      while (!region.isClosing()) {
        Thread.onSpinWait();
      }
      assertThat(one.isDone()).isFalse();
      region.release();
      assertThat(one.get()).isEqualTo(two.get());
    }
  }

  @Test
  void anArenaCannotBeClosedWhileItsMemoryIsRegistered() {
    Arena arena = Arena.ofShared();
    MemorySegment memory = arena.allocate(4096);
    Region one = registry.register(memory, Access.REMOTE_READ_WRITE);
    Region two = registry.register(memory.asSlice(16, 16), Access.REMOTE_READ);

    assertThat(two.registration()).isSameAs(one.registration());
    assertThatThrownBy(arena::close).isInstanceOf(IllegalStateException.class).hasMessageContaining("acquired");
    one.close();
    assertThatThrownBy(arena::close).isInstanceOf(IllegalStateException.class);
    two.close();
    arena.close();
    assertThat(memory.scope().isAlive()).isFalse();
  }

  @Test
  void aFailedRegistrationLetsTheArenaGo() {
    Arena arena = Arena.ofShared();
    MemorySegment memory = arena.allocate(4096);
    registry.close(Duration.ZERO);

    assertThatThrownBy(() -> registry.register(memory, Access.LOCAL)).isInstanceOf(RegistryClosedException.class);
    arena.close();
    assertThat(memory.scope().isAlive()).isFalse();
  }

  @Test
  void directBuffersAndAutomaticArenasCanBeRegistered() {
    Region buffer = registry.register(MemorySegment.ofBuffer(ByteBuffer.allocateDirect(4096)), Access.REMOTE_READ);
    Region automatic = registry.register(Arena.ofAuto().allocate(64), Access.REMOTE_READ);
    Region global = registry.register(Arena.global().allocate(64), Access.REMOTE_READ);

    for (Region region : List.of(buffer, automatic, global)) {
      region.segment().fill((byte) 7);
      assertThat(registry.find(region.address(), region.length())).containsSame(region);
      assertThat(region.backing()).isEmpty();
    }
  }

  @Test
  void aSegmentOfOurOwnMemoryIsNotHeld() {
    Region whole = registry.allocate(4096, Access.REMOTE_READ, BASE);
    MemorySegment part = whole.segment().asSlice(8, 8);
    Region region = registry.register(part, Access.REMOTE_READ);

    assertThat(region.backing().orElseThrow().offset()).isEqualTo(8);
    region.close();
    whole.close();
    assertThatThrownBy(() -> part.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> registry.register(part, Access.REMOTE_READ))
        .isInstanceOf(InvalidMemoryException.class)
        .hasMessageContaining("closed");
  }

  @Test
  void readOnlyMemoryIsNotForWriters() {
    MemorySegment memory = Arena.ofAuto().allocate(64).asReadOnly();

    assertThatThrownBy(() -> registry.register(memory, Access.REMOTE_WRITE)).hasMessageContaining("read-only");
    assertThat(registry.register(memory, Access.REMOTE_READ).writable()).isFalse();
  }

  @Test
  void memoryThatCannotBeTransferredIsRefused() {
    refused("heap", MemorySegment.ofArray(new byte[64]));
    try (Arena confined = Arena.ofConfined()) {
      refused("confined", confined.allocate(64));
    }
    Arena closed = Arena.ofShared();
    MemorySegment gone = closed.allocate(64);
    closed.close();
    refused("closed", gone);
    refused("length: 0 bytes", Arena.ofAuto().allocate(0));
    refusedRange("address: null", 0, 8);
    refusedRange("address: 0xffffffffffffffff", -1, 8);
    refusedRange("length: -8 bytes", 4096, -8);
    refusedRange("length: 0 bytes", 4096, 0);
    refusedRange("beyond the end", Long.MAX_VALUE - 4, 8);
    assertThatThrownBy(() -> registry.allocate(0, Access.LOCAL)).hasMessageContaining("bytes: 0 bytes");
    assertThatThrownBy(() -> registry.allocate(-1, Access.LOCAL)).isInstanceOf(InvalidMemoryException.class);
  }

  @Test
  void moreMemoryThanThereIsIsRefusedBeforeItIsTouched() {
    assertThatThrownBy(() -> registry.allocate(1L << 50, Access.LOCAL))
        .isInstanceOf(AllocationException.class)
        .hasMessageContaining("1125899906842624 bytes")
        .hasMessageContaining("available");
  }

  @Test
  void gpuMemoryIsRegisteredByAllocation() {
    AllocationFinder.Allocation[] current = {
        new AllocationFinder.Allocation(1L << 40, 1L << 30, Device.cuda(1), 7)};
    registry = MemoryRegistry.builder()
        .allocations(
            DeviceKind.CUDA,
            address -> address >= 1L << 40 && address < (1L << 40) + (1L << 30)
                ? Optional.of(current[0])
                : Optional.empty())
        .build();
    registry.addBinder(verbs);
    Region one = registry.register((1L << 40) + 4096, 64, Access.REMOTE_READ);
    Region two = registry.register((1L << 40) + 8192, 64, Device.cuda(1), Access.REMOTE_READ);

    assertThat(one.device()).isEqualTo(Device.cuda(1));
    assertThat(two.registration()).isSameAs(one.registration());
    assertThat(one.registration().length()).isEqualTo(1L << 30);
    assertThat(verbs.binds).hasValue(1);
    current[0] = new AllocationFinder.Allocation(1L << 40, 1L << 30, Device.cuda(1), 8);
    Region three = registry.register((1L << 40) + 8192, 64, Access.REMOTE_READ);
    assertThat(three.registration()).as("freed, and the address used again").isNotSameAs(one.registration());
    assertThatThrownBy(() -> registry.register(1L << 40, 64, Device.cuda(0), Access.LOCAL)).isInstanceOf(
        MemoryException.class);
    assertThatThrownBy(() -> registry.register(1L << 40, 2L << 30, Access.LOCAL)).hasMessageContaining(
        "beyond their allocation");
    assertThatThrownBy(one::segment).hasMessageContaining("GPU");
    long host = Arena.ofAuto().allocate(8).address();
    assertThat(registry.register(host, 8, Access.LOCAL).device()).isEqualTo(Device.HOST);
  }

  /** As a file of weights that was mapped for reading: to write there would end the process. */
  @Test
  void neverWritesToPagesThatAreForReading() {
    long bytes = 2L * PageMappings.pageBytes();
    long address = PageMappings.map(
        bytes, PageMappings.PROT_READ, PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS, -1, 0);
    try {
      assertThatThrownBy(() -> registry.register(address, bytes, Access.REMOTE_READ_WRITE))
          .isInstanceOf(InvalidMemoryException.class)
          .hasMessageContaining("mapped for reading only; use remote-read or local");
      try (Region region = registry.register(address, bytes, Access.REMOTE_READ)) {
        assertThat(region.writable()).isFalse();
        assertThat(region.segment().isReadOnly()).isTrue();
      }
    } finally {
      PageMappings.unmap(address, bytes);
    }
    long writable = Arena.ofAuto().allocate(8).address();
    assertThat(registry.register(writable, 8, Access.REMOTE_READ_WRITE).writable()).isTrue();
  }

  @Test
  void refusesAddressesAtWhichNothingIsMapped() {
    try (Arena arena = Arena.ofShared()) {
      long mapped = arena.allocate(64).address();

      assertThatThrownBy(() -> registry.register(8192, 4096, Access.REMOTE_READ))
          .isInstanceOf(InvalidMemoryException.class)
          .hasMessageContaining("4096 bytes at 0x2000")
          .hasMessageContaining("no memory is mapped at that address");
      assertThatThrownBy(() -> registry.register(mapped, 1L << 60, Device.HOST, Access.REMOTE_READ))
          .isInstanceOf(InvalidMemoryException.class)
          .hasMessageContaining((1L << 60) + " bytes at 0x" + Long.toHexString(mapped))
          .hasMessageContaining("no memory is mapped at their end");
      assertThat(registry.regions()).isEmpty();
      assertThat(registry.register(mapped, 64, Access.REMOTE_READ).address()).isEqualTo(mapped);
    }
  }

  @Test
  void listenersHearOfRegionsAndMayFail() {
    List<String> heard = new ArrayList<>();
    registry.addListener(
        new RegistryListener() {
          @Override
          public void added(Region region) {
            throw new IllegalStateException("planted");
          }
        });
    RegistryListener listener = new RegistryListener() {
      @Override
      public void added(Region region) {
        heard.add("added " + region.id());
      }

      @Override
      public void removed(Region region) {
        heard.add("removed " + region.id());
      }
    };
    registry.addListener(listener);
    Region region = registry.allocate(64, Access.LOCAL, BASE);
    region.close();
    registry.removeListener(listener);
    registry.allocate(64, Access.LOCAL, BASE).close();

    assertThat(heard).containsExactly("added " + region.id(), "removed " + region.id());
  }

  @Test
  void nobodyWaitsForTheBindingOfOtherMemory() throws Exception {
    registry.addBinder(verbs);
    CountDownLatch binding = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Region other = registry.allocate(64, Access.LOCAL, BASE);
    verbs.whileBinding = () -> {
      binding.countDown();
      try {
        goOn.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    };
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Region> slow = executor.submit(() -> registry.allocate(64, Access.LOCAL, BASE));
      binding.await();
      verbs.whileBinding = () -> {};
      registry.allocate(64, Access.LOCAL, BASE).close();
      assertThat(registry.find(other.address(), 8)).containsSame(other);
      other.close();
      assertThat(slow.isDone()).isFalse();
      goOn.countDown();
      assertThat(slow.get().binding(0)).isNotNull();
    }
  }

  @Test
  void whoSharesARegistrationWaitsUntilItIsBound() throws Exception {
    registry.addBinder(verbs);
    CountDownLatch binding = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    verbs.whileBinding = () -> {
      binding.countDown();
      try {
        goOn.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    };
    MemorySegment memory = Arena.global().allocate(4096);
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<Region> first = executor.submit(() -> registry.register(memory, Access.LOCAL));
      binding.await();
      Future<Region> second = executor.submit(() -> registry.register(memory.asSlice(8, 8), Access.LOCAL));
      goOn.countDown();
      assertThat(second.get().binding(0)).isNotNull();
      assertThat(second.get().registration()).isSameAs(first.get().registration());
      assertThat(verbs.binds).hasValue(1);
    }
  }

  @Test
  void whatIsBeingRegisteredWhenTheRegistryClosesIsGivenUp() throws Exception {
    registry.addBinder(verbs);
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      verbs.whileBinding = () -> {
        try {
          executor.submit(() -> registry.close(Duration.ofSeconds(10))).get();
        } catch (InterruptedException | ExecutionException e) {
          throw new AssertionError(e);
        }
      };
      assertThatThrownBy(() -> registry.allocate(64, Access.LOCAL, BASE)).isInstanceOf(RegistryClosedException.class);
    }
    assertThat(verbs.binds).hasValue(1);
    assertThat(verbs.unbinds).hasValue(1);
    assertThat(registry.byId(1)).isNull();
  }

  @Test
  void aClosedRegistryRefusesAndClosesAgain() {
    registry.close();
    registry.close();

    assertThat(registry.isClosed()).isTrue();
    assertThatThrownBy(() -> registry.allocate(64, Access.LOCAL)).isInstanceOf(RegistryClosedException.class);
    assertThatThrownBy(() -> registry.register(4096, 8, Device.HOST, Access.LOCAL)).isInstanceOf(
        RegistryClosedException.class);
    assertThatThrownBy(() -> registry.addBinder(verbs)).isInstanceOf(RegistryClosedException.class);
  }

  private void refused(String words, MemorySegment segment) {
    assertThatThrownBy(() -> registry.register(segment, Access.LOCAL))
        .isInstanceOf(InvalidMemoryException.class)
        .hasMessageContaining(words);
  }

  private void refusedRange(String words, long address, long length) {
    assertThatThrownBy(() -> registry.register(address, length, Device.HOST, Access.LOCAL))
        .isInstanceOf(InvalidMemoryException.class)
        .hasMessageContaining(words);
  }
}
