/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.PageMappings;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostAllocatorTest {
  private static final AllocationOptions BASE = AllocationOptions.DEFAULT.withHugePages(HugePages.NO);

  @TempDir
  @SuppressWarnings("NullAway.Init") // by JUnit
  Path root;

  @Test
  void aPeerOfTheSameUserCanMapIt() throws IOException {
    try (MemoryRegistry registry = MemoryRegistry.create(); Arena arena = Arena.ofConfined()) {
      Region region = registry.allocate(10_000, Access.REMOTE_WRITE, BASE);
      Backing backing = region.backing().orElseThrow();
      Path file = Path.of("/proc/self/fd/" + backing.fd());
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        MemorySegment peer = channel.map(FileChannel.MapMode.READ_WRITE, backing.offset(), region.length(), arena);
        peer.set(ValueLayout.JAVA_INT, 9_996, 42);
        assertThat(region.segment().get(ValueLayout.JAVA_INT, 9_996)).isEqualTo(42);
      }
      FileDescriptors.Identity identity = FileDescriptors.identify(backing.fd());
      assertThat(identity.inode()).isEqualTo(backing.inode());
      assertThat(identity.device()).isEqualTo(backing.deviceNumber());
      assertThat(identity.size()).isEqualTo(backing.fileBytes()).isEqualTo(12_288);
    }
  }

  /** A page that is gone would be SIGBUS for whoever touches it: this process, and each peer that has mapped it. */
  @Test
  void nobodyCutsItOff() throws IOException {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      Region region = registry.allocate(10_000, Access.REMOTE_WRITE, BASE);
      int fd = region.backing().orElseThrow().fd();
      assertThat(FileDescriptors.isSizeSealed(fd)).isTrue();
      assertThatThrownBy(() -> FileDescriptors.truncate(fd, 0)).hasMessageContaining("EPERM");
      try (FileChannel peer = FileChannel.open(Path.of("/proc/self/fd/" + fd), StandardOpenOption.WRITE)) {
        assertThatThrownBy(() -> peer.truncate(0)).isInstanceOf(IOException.class);
      }
      region.segment().set(ValueLayout.JAVA_INT, 9_996, 42);
    }
  }

  @Test
  void allPagesAreThereAndZero() throws IOException {
    long bytes = 8 << 20;
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      Region full = registry.allocate(bytes, Access.LOCAL, BASE);
      Region sparse = registry.allocate(bytes, Access.LOCAL, BASE.withPopulate(false));

      assertThat(full.segment().mismatch(sparse.segment().asSlice(0, 0))).isZero();
      assertThat(residentKib(full)).isEqualTo(bytes >> 10);
      assertThat(residentKib(sparse)).isZero();
      for (long at = 0; at < bytes; at += 512) {
        assertThat(full.segment().get(ValueLayout.JAVA_LONG, at)).isZero();
      }
    }
  }

  @Test
  void nothingIsLeftOfAThousandAllocations() throws IOException {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      registry.allocate(4096, Access.LOCAL, BASE).close();
      int descriptors = descriptors();
      long mappings = mappings();
      for (int i = 0; i < 1000; i++) {
        registry.allocate(4096, Access.LOCAL, BASE).close();
      }
      assertThat(mappings()).isEqualTo(mappings);
      assertThat(descriptors()).isEqualTo(descriptors);
    }
  }

  @Test
  void memoryThatIsKeptIsUnmappedByWhoeverAskedForIt() throws IOException {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      registry.allocate(4096, Access.LOCAL, BASE).close();
      int descriptors = descriptors();
      long mappings = mappings();
      Region region = registry.allocate(10_000, Access.LOCAL, BASE);
      region.segment().set(ValueLayout.JAVA_INT, 9_996, 42);

      assertThat(region.keepMapped()).isEqualTo(12_288);
      region.close();

      assertThat(HostMemory.ALL.get(ValueLayout.JAVA_INT, region.address() + 9_996)).isEqualTo(42);
      PageMappings.unmap(region.address(), 12_288);
      assertThat(mappings()).isEqualTo(mappings);
      assertThat(descriptors()).isEqualTo(descriptors);
    }
  }

  @Test
  void memoryOfOthersIsNotKept() {
    try (MemoryRegistry registry = MemoryRegistry.create(); Arena arena = Arena.ofShared()) {
      Region region = registry.register(arena.allocate(4096), Access.LOCAL);
      assertThat(region.keepMapped()).isZero();
      region.close();
    }
  }

  @Test
  void theLeakCheckSeesALeak() throws IOException {
    int before = descriptors();
    int leaked = FileDescriptors.memfdCreate("planted", FileDescriptors.MFD_CLOEXEC);
    assertThat(descriptors()).isEqualTo(before + 1);
    FileDescriptors.close(leaked);
  }

  @Test
  void hugePagesAreUsedOrTheReasonIsTold() {
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      Backing backing =
          registry.allocate(4 << 20, Access.LOCAL, AllocationOptions.DEFAULT).backing().orElseThrow();
      if (backing.pages() == Backing.Pages.HUGE) {
        assertThat(backing.note()).isEmpty();
      } else {
        assertThat(backing.note()).contains("no pool of huge pages").contains("mmap(4194304 bytes");
      }
    }
  }

  @Test
  void hugePagesThatAreNotThereAreRefusedWithTheCure() throws IOException {
    int descriptors = descriptors();
    long pages = (1L << 45) >> 21;
    try (MemoryRegistry registry = MemoryRegistry.create()) {
      assertThatThrownBy(
          () -> registry.allocate(
              1L << 45, Access.LOCAL, new AllocationOptions(HugePages.REQUIRE, false)))
          .isInstanceOf(AllocationException.class)
          .hasMessageContaining("ENOMEM (Cannot allocate memory)")
          .hasMessageContaining("sysctl vm.nr_hugepages=" + pages);
    }
    assertThat(descriptors()).isEqualTo(descriptors);
  }

  @Test
  void theTightestLimitCounts() throws IOException {
    write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:      90 kB\n");
    assertThat(AvailableMemory.now(root).bytes()).isEqualTo(90 << 10);
    write("proc/self/cgroup", "0::/a/b\n");
    write("sys/fs/cgroup/a/memory.max", "50000\n");
    write("sys/fs/cgroup/a/memory.current", "40000\n");
    write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 2500\n");
    write("sys/fs/cgroup/a/b/memory.max", "max\n");
    write("sys/fs/cgroup/a/b/memory.current", "39000\n");

    assertThat(AvailableMemory.now(root).bytes()).isEqualTo(12_500);
    assertThat(AvailableMemory.now(root).limit()).contains("control group").endsWith("cgroup/a");
    assertThat(AvailableMemory.now(root.resolve("nothing")).bytes()).isEqualTo(Long.MAX_VALUE);
  }

  private void write(String name, String text) throws IOException {
    Path file = root.resolve(name);
    Files.createDirectories(file.resolveSibling("."));
    Files.writeString(file, text);
  }

  private static int descriptors() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return (int) files.filter(HostAllocatorTest::isMemfd).count();
    }
  }

  private static boolean isMemfd(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().startsWith("/memfd:");
    } catch (IOException e) {
      return false; // the descriptor by which the folder itself was listed
    }
  }

  private static long mappings() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(line -> line.contains("memfd:hawser"))
        .count();
  }

  private static long residentKib(Region region) throws IOException {
    String start = Long.toHexString(region.address()) + "-";
    boolean inside = false;
    for (String line : Files.readAllLines(Path.of("/proc/self/smaps"))) {
      if (line.startsWith(start)) {
        inside = true;
      } else if (inside && line.startsWith("Rss:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new AssertionError("no mapping begins at " + start);
  }
}
