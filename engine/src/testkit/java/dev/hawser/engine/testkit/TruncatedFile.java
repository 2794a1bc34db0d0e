/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import dev.hawser.memory.ffi.FileDescriptors;
import dev.hawser.memory.ffi.PageMappings;

/**
 * A file in memory, mapped, that is cut off behind whoever uses it: to the kernel as memory that was freed, and to this process
 * a SIGBUS.
 */
public final class TruncatedFile implements AutoCloseable {
  private final int fd;
  private final long bytes;
  private final long address;

  /** Not truncated yet. */
  public TruncatedFile(long bytes) {
    this.bytes = bytes;
    fd = FileDescriptors.memfdCreate("hawser-lost", FileDescriptors.MFD_CLOEXEC);
    FileDescriptors.truncate(fd, bytes);
    address =
        PageMappings.map(bytes, PageMappings.PROT_READ | PageMappings.PROT_WRITE, PageMappings.MAP_SHARED, fd, 0);
  }

  /** Where it is mapped; stays so. */
  public long address() {
    return address;
  }

  /** To map it elsewhere, too. */
  public int fd() {
    return fd;
  }

  /** Leaves so many bytes of it. */
  public void cut(long kept) {
    FileDescriptors.truncate(fd, kept);
  }

  @Override
  public void close() {
    PageMappings.unmap(address, bytes);
    FileDescriptors.close(fd);
  }
}
