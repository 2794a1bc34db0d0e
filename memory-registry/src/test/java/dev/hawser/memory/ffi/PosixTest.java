/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PosixTest {
  private static final int NO_FD = -1;

  @TempDir
  @SuppressWarnings("NullAway.Init") // by JUnit
  Path folder;

  @Test
  void errorsHaveTheirNamesAndWords() {
    assertThat(Errno.name(12)).isEqualTo("ENOMEM");
    assertThat(Errno.message(12)).isEqualTo("Cannot allocate memory");
    assertThat(Errno.describe(Errno.EAGAIN)).isEqualTo("EAGAIN (Resource temporarily unavailable)");
    assertThat(Errno.name(35)).isEqualTo("EDEADLK");
    assertThat(Errno.name(95)).isEqualTo("EOPNOTSUPP");
    assertThat(Errno.name(4095)).isEqualTo("errno 4095");
    assertThat(Errno.message(0)).isEqualTo("Unknown error 0");
    assertThat(Errno.name(-3)).isEqualTo("errno -3");
  }

  @Test
  void theWordsAreThoseOfTheCLibrary() throws Throwable {
    MethodHandle strerror = NativeLibrary.process()
        .function("strerror", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    for (int errno = 1; errno <= 133; errno++) {
      String expected = text((long) strerror.invokeExact(errno));
      assertThat(Errno.message(errno)).isEqualTo(expected);
    }
  }

  @Test
  void aMemfdIsAFile() throws IOException {
    int fd = FileDescriptors.memfdCreate("hawser-test", FileDescriptors.MFD_CLOEXEC);
    FileDescriptors.truncate(fd, 5000);
    FileDescriptors.Identity identity = FileDescriptors.identify(fd);

    assertThat(identity.size()).isEqualTo(5000);
    assertThat(Files.readSymbolicLink(Path.of("/proc/self/fd/" + fd))).hasToString("/memfd:hawser-test (deleted)");
    assertThat(Files.getAttribute(Path.of("/proc/self/fd/" + fd), "unix:ino")).isEqualTo(identity.inode());
    FileDescriptors.close(fd);
    assertThatThrownBy(() -> FileDescriptors.identify(fd))
        .isInstanceOf(NativeCallException.class)
        .hasMessage("statx(fd " + fd + ") failed: EBADF (Bad file descriptor)");
  }

  @Test
  void opensOnlyWhatIsThere() throws IOException {
    Path file = Files.writeString(folder.resolve("a"), "abc");
    int fd = FileDescriptors.open(file.toString(), FileDescriptors.O_RDONLY);
    assertThat(FileDescriptors.identify(fd).size()).isEqualTo(3);
    FileDescriptors.close(fd);

    assertThatThrownBy(() -> FileDescriptors.open(folder + "/b", FileDescriptors.O_RDWR))
        .isInstanceOf(NativeCallException.class)
        .hasMessageContaining("open(" + folder + "/b) failed: ENOENT");
    assertThatThrownBy(() -> FileDescriptors.close(NO_FD)).hasMessageContaining("EBADF");
    assertThatThrownBy(() -> FileDescriptors.truncate(NO_FD, 1)).hasMessageContaining("EBADF");
  }

  @Test
  void mapsAndUnmaps() {
    int page = PageMappings.pageBytes();
    long address = PageMappings.map(
        page, PageMappings.PROT_READ | PageMappings.PROT_WRITE,
        PageMappings.MAP_PRIVATE | PageMappings.MAP_ANONYMOUS, NO_FD, 0);
    assertThat(PageMappings.advise(address, page, PageMappings.MADV_POPULATE_WRITE)).isIn(0, Errno.EINVAL);
    PageMappings.lock(address, page);
    PageMappings.unlock(address, page);
    PageMappings.unmap(address, page);

    assertThat(PageMappings.advise(address, page, PageMappings.MADV_POPULATE_WRITE)).isEqualTo(Errno.ENOMEM);
    assertThatThrownBy(() -> PageMappings.lock(address, page)).hasMessageContaining("mlock(0x").hasMessageContaining(
        "ENOMEM");
    assertThatThrownBy(() -> PageMappings.unlock(address, page)).hasMessageContaining("ENOMEM");
    assertThatThrownBy(() -> PageMappings.unmap(address + 1, page)).hasMessageContaining("EINVAL");
    assertThatThrownBy(() -> PageMappings.map(0, 0, PageMappings.MAP_PRIVATE, NO_FD, 0))
        .isInstanceOf(NativeCallException.class)
        .hasMessageContaining("mmap(0 bytes");
  }

  @Test
  void copiesToAndFromAProcess() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment mine = arena.allocateFrom("what is copied");
      MemorySegment theirs = arena.allocate(mine.byteSize());
      MemorySegment local = vector(arena, mine);
      MemorySegment remote = vector(arena, theirs);

      assertThat(Processes.writeTo(Processes.self(), local.address(), 1, remote.address(), 1)).isEqualTo(15);
      assertThat(theirs.getString(0)).isEqualTo("what is copied");
      mine.fill((byte) 0);
      assertThat(Processes.readFrom(Processes.self(), local.address(), 1, remote.address(), 1)).isEqualTo(15);
      assertThat(mine.getString(0)).isEqualTo("what is copied");

      remote.set(ValueLayout.JAVA_LONG, 0, 8);
      assertThat(Processes.readFrom(Processes.self(), local.address(), 1, remote.address(), 1))
          .isEqualTo(-Errno.EFAULT);
      assertThat(Processes.readFrom(Integer.MAX_VALUE, local.address(), 1, remote.address(), 1))
          .isEqualTo(-Errno.ESRCH);
    }
  }

  @Test
  void aPidfdMeansOneProcess() {
    int fd = Processes.openPidfd(Processes.self());
    assertThat(fd).isPositive();
    FileDescriptors.close(fd);
    assertThatThrownBy(() -> Processes.openPidfd(Integer.MAX_VALUE))
        .isInstanceOf(NativeCallException.class)
        .extracting(e -> ((NativeCallException) e).errno())
        .isEqualTo(Errno.ESRCH);
  }

  @Test
  void whatIsMissingIsNamed() {
    FunctionDescriptor type = FunctionDescriptor.of(ValueLayout.JAVA_INT);
    assertThatThrownBy(() -> NativeLibrary.open(List.of("libno-such.so.1", "libnor-this.so")))
        .isInstanceOf(MissingNativeException.class)
        .hasMessageContaining("libno-such.so.1")
        .hasMessageContaining("libnor-this.so");
    NativeLibrary empty = NativeLibrary.of("an empty library", name -> Optional.empty());
    assertThat(empty.find("f")).isEmpty();
    assertThatThrownBy(() -> empty.function("f", type)).hasMessageContaining("an empty library has no symbol f");
    assertThatThrownBy(() -> NativeLibrary.at(MemorySegment.NULL, type)).isInstanceOf(MissingNativeException.class);
    assertThat(NativeLibrary.open(List.of("libno-such.so.1", "libc.so.6"))).hasToString("libc.so.6");
  }

  @Test
  void callsThroughALookupOfItsOwn() throws Throwable {
    SymbolLookup lookup = name -> NativeLibrary.process().find("getpid");
    MethodHandle handle =
        NativeLibrary.of("a stand-in", lookup).getter("whatever", FunctionDescriptor.of(ValueLayout.JAVA_INT));
    assertThat((int) handle.invokeExact()).isEqualTo(Processes.self());
  }

  private static MemorySegment vector(Arena arena, MemorySegment memory) {
    MemorySegment vector = arena.allocate(16, 8);
    vector.set(ValueLayout.JAVA_LONG, 0, memory.address());
    vector.set(ValueLayout.JAVA_LONG, 8, memory.byteSize());
    return vector;
  }

  @SuppressWarnings("restricted") // a C string of the C library
  private static String text(long address) {
    return MemorySegment.ofAddress(address).reinterpret(1024).getString(0);
  }
}
