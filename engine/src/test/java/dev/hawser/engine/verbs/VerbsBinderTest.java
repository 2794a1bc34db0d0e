/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.engine.net.RawMemory;
import dev.hawser.engine.testkit.verbs.FakeVerbs;
import dev.hawser.engine.verbs.abi.VerbsAbi;
import dev.hawser.engine.verbs.abi.VerbsDevices;
import dev.hawser.engine.verbs.abi.VerbsException;
import dev.hawser.engine.verbs.abi.VerbsLibrary;
import dev.hawser.memory.Access;
import dev.hawser.memory.AllocationFinder;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import dev.hawser.memory.RegionKeys;
import dev.hawser.memory.ffi.Errno;
import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.NativeCallException;
import dev.hawser.memory.gpu.DmaBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Registration with two devices of a fake libibverbs. */
class VerbsBinderTest {
  private static final long GPU_ADDRESS = 0x7f00_0000_0000L;
  private static final long GPU_BYTES = 8 << 20;

  private final FakeVerbs fake = new FakeVerbs(2);
  private final List<VerbsDevice> devices = new ArrayList<>();
  private final MemoryRegistry registry =
      MemoryRegistry.builder()
          .allocations(
              DeviceKind.CUDA,
              address -> Optional.of(
                  new AllocationFinder.Allocation(GPU_ADDRESS, GPU_BYTES, Device.cuda(0), 77)))
          .build();

  @BeforeEach
  void open() {
    VerbsLibrary library = VerbsLibrary.of("fake", fake.symbols());
    try (VerbsDevices list = VerbsDevices.list(library)) {
      for (VerbsDevices.Found found : list.found()) {
        devices.add(VerbsDevice.of(list.open(found), 100 + devices.size()));
      }
    }
  }

  @AfterEach
  void nothingIsLeft() {
    registry.close();
    devices.forEach(VerbsDevice::close);
    assertThat(fake.violations()).isEmpty();
    assertThat(fake.leftovers()).isEmpty();
    fake.close();
  }

  private VerbsBinder binder(DmaBufExporter exporter, Map<String, String> settings) {
    return new VerbsBinder(devices, VerbsSettings.of(settings), exporter);
  }

  private static DmaBufExporter none() {
    return registration -> {
      throw new AssertionError("the host's memory needs no dma-buf");
    };
  }

  @Test
  void publishesAKeyForEachDeviceAndSlice() {
    VerbsBinder binder = binder(none(), Map.of("slice-bytes", "1048576"));
    try (Region region = registry.allocate((5 << 20) / 2, Access.REMOTE_READ_WRITE)) {
      RegionKeys keys = binder.bind(region.registration());
      assertThat(keys.local())
          .isInstanceOfSatisfying(
              DeviceKeys[].class,
              all -> {
                DeviceKeys second = all[1];
                assertThat(second.regions()).hasSize(3);
                long last = second.regions()[2];
                assertThat(RawMemory.u64(last + VerbsAbi.Mr.LENGTH)).isEqualTo(1 << 19);
                assertThat(second.localKey(region.address() + (2 << 20)))
                    .isEqualTo(RawMemory.u32(last + VerbsAbi.Mr.LKEY));
              });
      binder.unbind(region.registration(), keys);
    }
  }

  @Test
  void givesBackWhatItHadWhenALaterDeviceRefuses() {
    VerbsBinder binder = binder(none(), Map.of());
    try (Region region = registry.allocate(4096, Access.REMOTE_WRITE)) {
      // The first device's limit is above, the second's below what is asked for: its own part comes first, and is undone.
      fake.device(1).maxRegionBytes(2048);
      assertThatThrownBy(() -> binder.bind(region.registration()))
          .isInstanceOf(VerbsException.class)
          .hasMessageContaining("fake_1")
          .hasMessageContaining("EINVAL");
    }
  }

  @Test
  void registersReadOnlyMemoryForReading() {
    VerbsBinder binder = binder(none(), Map.of());
    try (Region region = registry.allocate(4096, Access.REMOTE_READ)) {
      fake.refuse("ibv_reg_mr_iova2", Errno.EFAULT, 1);
      binder.unbind(region.registration(), binder.bind(region.registration()));
    }
    try (Region region = registry.allocate(4096, Access.REMOTE_READ_WRITE)) {
      fake.refuse("ibv_reg_mr_iova2", Errno.EFAULT, 1);
      assertThatThrownBy(() -> binder.bind(region.registration())).hasMessageContaining("EFAULT");
    }
  }

  @Test
  void givesEachRegistrationBackOnceThoughItTakesTwoTries() {
    VerbsBinder binder = binder(none(), Map.of("slice-bytes", "65536"));
    try (Region region = registry.allocate(3 << 16, Access.REMOTE_READ_WRITE)) {
      RegionKeys keys = binder.bind(region.registration());
      fake.refuse("ibv_dereg_mr", Errno.EINVAL, 2);
      assertThatThrownBy(() -> binder.unbind(region.registration(), keys))
          .isInstanceOf(VerbsException.class)
          .hasMessageContaining("must stay mapped");
      binder.unbind(region.registration(), keys); // a second dereg of the same would be a violation
    }
  }

  @Test
  void registersTheDmaBufOfAGpu() {
    List<Integer> exported = new ArrayList<>();
    VerbsBinder binder =
        binder(
            registration -> {
              int fd = FileDescriptors.memfdCreate("dma-buf", 0);
              exported.add(fd);
              return new DmaBuf(fd, 4096);
            },
            Map.of());
    try (Region region = registry.register(GPU_ADDRESS + 64, 128, Device.cuda(0), Access.REMOTE_READ_WRITE)) {
      RegionKeys keys = binder.bind(region.registration());
      assertThat(exported).as("one export for all devices").hasSize(1);
      assertThatThrownBy(() -> FileDescriptors.identify(exported.getFirst())).isInstanceOf(NativeCallException.class);
      assertThat(keys.remote()).hasSize(2 + 2 * 32);
      binder.unbind(region.registration(), keys);
    }
  }

  @Test
  void memoryOfAGpuThatNobodyRegistersGoesThroughSlotsAndItIsSaidOnceWhy() {
    VerbsBinder refused =
        binder(
            registration -> {
              throw new IllegalStateException("the driver exports none of " + registration.device());
            },
            Map.of());
    List<String> said = new ArrayList<>();
    Handler handler = new SavingHandler(said);
    Logger logger = Logger.getLogger("dev.hawser.engine.verbs");
    logger.addHandler(handler);
    try (Region region = registry.register(GPU_ADDRESS, 128, Device.cuda(0), Access.REMOTE_READ)) {
      for (int i = 0; i < 2; i++) {
        RegionKeys keys = refused.bind(region.registration());
        assertThat(keys.remote()).isEqualTo(RemoteKeys.staged());
        refused.unbind(region.registration(), keys);
      }
    } finally {
      logger.removeHandler(handler);
    }
    assertThat(said).singleElement().asString().contains("cuda:0").contains("slowly")
        .contains("exports none of cuda:0");
  }

  /** What one device has registered is given back when the other cannot. */
  @Test
  void memoryThatOneDeviceDoesNotTakeIsStagedForAll() {
    VerbsBinder binder =
        binder(registration -> new DmaBuf(FileDescriptors.memfdCreate("dma-buf", 0), 0), Map.of());
    try (Region region = registry.register(GPU_ADDRESS, 128, Device.cuda(0), Access.REMOTE_READ_WRITE)) {
      fake.device(1).maxRegionBytes(4096);
      RegionKeys keys = binder.bind(region.registration());
      assertThat(keys.remote()).isEqualTo(RemoteKeys.staged());
      assertThat(keys.local()).isNull();
      binder.unbind(region.registration(), keys);
    }
  }

  private static final class SavingHandler extends Handler {
    private final List<String> said;

    SavingHandler(List<String> said) {
      this.said = said;
    }

    @Override
    public void publish(LogRecord record) {
      said.add(new SimpleFormatter().formatMessage(record));
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
  }
}
