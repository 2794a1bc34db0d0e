/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.DmaBuf;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/** Exports AMD memory as dma-bufs, by the HSA runtime that HIP has started. Source: hsa_ext_amd.h of ROCm 5.6 on. */
final class DmaBufExporter {
  // hsa_status_t hsa_amd_portable_export_dmabuf(const void* ptr, size_t size, int* dmabuf, uint64_t* offset);
  private final @Nullable MethodHandle export;

  DmaBufExporter(NativeLibrary hsa) {
    String symbol = "hsa_amd_portable_export_dmabuf";
    this.export =
        hsa.find(symbol).isPresent()
            ? hsa.function(symbol, FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG))
            : null;
  }

  /** Whether this version of the runtime can export at all. */
  boolean present() {
    return export != null;
  }

  /** A descriptor for a range; it is of the whole allocation, in which the range begins at the offset. */
  DmaBuf export(long address, long bytes) {
    String call = "hsa_amd_portable_export_dmabuf(0x" + Long.toHexString(address) + ", " + bytes + " bytes)";
    MethodHandle function = export;
    if (function == null) {
      throw new HipException(call, HipResults.NOT_SUPPORTED);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(16, 8);
      int status;
      try {
        status = (int) function.invokeExact(address, bytes, out.address(), out.address() + 8);
      } catch (Throwable t) {
        throw NativeLibrary.unexpected(t);
      }
      if (status != 0) {
        throw new HipException(
            call,
            status,
            "hsa_status_t " + status,
            "the kernel needs CONFIG_DMABUF_MOVE_NOTIFY and CONFIG_PCI_P2PDMA, and the memory must be of hipMalloc");
      }
      return new DmaBuf(out.get(JAVA_INT, 0), out.get(JAVA_LONG, 8));
    }
  }
}
