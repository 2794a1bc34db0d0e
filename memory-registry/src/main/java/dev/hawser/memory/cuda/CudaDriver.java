/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import static dev.hawser.memory.ffi.Calls.call;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.DeviceAbsentException;
import dev.hawser.memory.DeviceKind;
import dev.hawser.memory.ffi.MissingNativeException;
import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.DmaBuf;
import dev.hawser.memory.gpu.GpuDriver;
import dev.hawser.memory.gpu.GpuProperties;
import dev.hawser.memory.gpu.IpcHandle;
import dev.hawser.memory.gpu.KernelSources;
import dev.hawser.memory.gpu.PointerInfo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.HexFormat;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The CUDA driver as a {@link GpuDriver}. Devices are used through their primary contexts, which CUDA's runtime and PyTorch
 * use too; a context that was retained stays so as long as the process runs. Thread-safe.
 *
 * <p>Source: CUDA driver API 13.0.
 */
public final class CudaDriver implements GpuDriver {
  /** 11.4: the first whose compiler and calls are all that is needed. */
  private static final int OLDEST_VERSION = 11_040;

  private static final int PCI_BUS_ID_BYTES = 32;
  private static final int NAME_BYTES = 128;

  // CUdevice_attribute
  private static final int MULTIPROCESSOR_COUNT = 16;
  private static final int COMPUTE_CAPABILITY_MAJOR = 75;
  private static final int COMPUTE_CAPABILITY_MINOR = 76;
  private static final int CAN_USE_64_BIT_STREAM_MEM_OPS = 122;
  private static final int CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93;
  private static final int DMA_BUF_SUPPORTED = 124;

  // CUpointer_attribute, in the order in which they are asked for
  private static final int[] POINTER_ATTRIBUTES = {
      2, // MEMORY_TYPE: int
      8, // IS_MANAGED: int
      9, // DEVICE_ORDINAL: int
      7, // BUFFER_ID: u64
      11, // RANGE_START_ADDR: pointer
      12, // RANGE_SIZE: size_t
      10, // IS_LEGACY_CUDA_IPC_CAPABLE: int
      14, // ALLOWED_HANDLE_TYPES: u64
      17, // MEMPOOL_HANDLE: pointer
      1 // CONTEXT: pointer
  };
  private static final int MEMORY_TYPE_HOST = 1;
  private static final int MEMORY_TYPE_DEVICE = 2;
  private static final long HANDLE_TYPE_POSIX_FD = 1;

  private static final int MEMHOSTALLOC_PORTABLE_DEVICEMAP = 3;
  private static final int MEMHOSTREGISTER_PORTABLE_DEVICEMAP = 3;
  private static final int IPC_LAZY_ENABLE_PEER_ACCESS = 1;
  private static final int STREAM_NON_BLOCKING = 1;
  private static final int EVENT_DISABLE_TIMING = 2;
  private static final int EVENT_INTERPROCESS = 4;
  private static final int STREAM_WAIT_VALUE_GEQ = 0;
  private static final int RANGE_HANDLE_DMA_BUF_FD = 1;
  private static final int MEMCPY_SRC_ACCESS_ORDER_STREAM = 1;

  // The scratch block of a thread: room for out-parameters, and for the arrays of cuPointerGetAttributes.
  private static final long OUT = 0;
  private static final long OUT2 = 8;
  private static final long DATA = 64; // 10 results of 8 bytes
  private static final long DATA_POINTERS = 160;
  private static final long ATTRIBUTES = 256;
  private static final long COPY_ATTRIBUTES = 320; // CUmemcpyAttributes: 24 bytes
  private static final long COPY_INDICES = 352;
  private static final long TEXT = 384;
  private static final long SCRATCH_BYTES = TEXT + NAME_BYTES;

  private final CudaBindings cuda;
  private final String description;
  private final int count;
  private final AtomicLongArray contexts;
  // Kept by each thread: out-parameters cost no allocation.
  private final ThreadLocal<MemorySegment> scratch = ThreadLocal.withInitial(CudaDriver::newScratch);

  private CudaDriver(CudaBindings cuda, String description, int count) {
    this.cuda = cuda;
    this.description = description;
    this.count = count;
    this.contexts = new AtomicLongArray(count);
  }

  /**
   * Starts the driver that is in a library.
   *
   * @throws DeviceAbsentException if it lacks a call, is too old, or sees no device
   */
  public static CudaDriver start(NativeLibrary library) {
    CudaBindings cuda;
    try {
      cuda = new CudaBindings(library);
    } catch (MissingNativeException e) {
      throw new DeviceAbsentException(
          DeviceKind.CUDA, e.getMessage() + "; install a driver of CUDA 11.4 or newer (470)");
    }
    MemorySegment out = newScratch();
    int version = version(cuda, out);
    if (version < OLDEST_VERSION) {
      throw new DeviceAbsentException(
          DeviceKind.CUDA,
          "the driver in " + library + " is of CUDA " + dotted(version) + "; install one of CUDA 11.4 or newer (470)");
    }
    refuse(call(cuda.init, 0), "cuInit");
    refuse(call(cuda.deviceGetCount, out.address() + OUT), "cuDeviceGetCount");
    int count = out.get(JAVA_INT, OUT);
    if (count == 0) {
      throw new DeviceAbsentException(DeviceKind.CUDA, CudaResults.advice(100));
    }
    return new CudaDriver(cuda, "CUDA driver " + dotted(version) + " (" + library + ")", count);
  }

  private static int version(CudaBindings cuda, MemorySegment out) {
    refuse(call(cuda.driverGetVersion, out.address() + OUT), "cuDriverGetVersion");
    return out.get(JAVA_INT, OUT);
  }

  private static void refuse(int result, String call) {
    if (result != CudaResults.SUCCESS) {
      CudaException failure = new CudaException(call, result);
      throw new DeviceAbsentException(DeviceKind.CUDA, String.valueOf(failure.getMessage()));
    }
  }

  private static String dotted(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }

  private static MemorySegment newScratch() {
    return Arena.ofAuto().allocate(SCRATCH_BYTES, 16);
  }

  private static void check(int result, String call) {
    if (result != CudaResults.SUCCESS) {
      throw new CudaException(call, result);
    }
  }

  private static String hex(long address) {
    return "0x" + Long.toHexString(address);
  }

  // ------------------------------------------------------------------------------------------------ devices

  @Override
  public DeviceKind kind() {
    return DeviceKind.CUDA;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public int deviceCount() {
    return count;
  }

  @Override
  public GpuProperties properties(int ordinal) {
    int device = device(ordinal);
    MemorySegment out = scratch.get();
    long text = out.address() + TEXT;
    check(call(cuda.deviceGetName, text, NAME_BYTES, device), "cuDeviceGetName");
    String name = out.getString(TEXT);
    check(call(cuda.deviceGetPciBusId, text, PCI_BUS_ID_BYTES, device), "cuDeviceGetPCIBusId");
    String bus = out.getString(TEXT).toLowerCase(Locale.ROOT);
    check(call(cuda.deviceGetUuid, text, device), "cuDeviceGetUuid");
    String uuid = HexFormat.of().formatHex(out.asSlice(TEXT, 16).toArray(JAVA_BYTE));
    check(call(cuda.deviceTotalMem, out.address() + OUT, device), "cuDeviceTotalMem");
    long bytes = out.get(JAVA_LONG, OUT);
    return new GpuProperties(
        ordinal,
        name,
        bus,
        uuid,
        bytes,
        attribute(device, MULTIPROCESSOR_COUNT),
        "sm_" + attribute(device, COMPUTE_CAPABILITY_MAJOR) + attribute(device, COMPUTE_CAPABILITY_MINOR),
        supports(device, DMA_BUF_SUPPORTED),
        supports(device, CAN_USE_64_BIT_STREAM_MEM_OPS) || supports(device, CAN_USE_64_BIT_STREAM_MEM_OPS_V1));
  }

  private int device(int ordinal) {
    MemorySegment out = scratch.get();
    check(call(cuda.deviceGet, out.address() + OUT, ordinal), "cuDeviceGet(" + ordinal + ")");
    return out.get(JAVA_INT, OUT);
  }

  private int attribute(int device, int attribute) {
    MemorySegment out = scratch.get();
    check(
        call(cuda.deviceGetAttribute, out.address() + OUT, attribute, device),
        "cuDeviceGetAttribute(" + attribute + ")");
    return out.get(JAVA_INT, OUT);
  }

  /** An attribute that older drivers do not know is one that they do not support. */
  private boolean supports(int device, int attribute) {
    MemorySegment out = scratch.get();
    return call(cuda.deviceGetAttribute, out.address() + OUT, attribute, device) == CudaResults.SUCCESS
        && out.get(JAVA_INT, OUT) != 0;
  }

  /** The context that was current, which {@link #leave} makes current again; −1 if that is the right one already. */
  @Override
  public long enter(int ordinal) {
    long context = context(ordinal);
    MemorySegment out = scratch.get();
    check(call(cuda.ctxGetCurrent, out.address() + OUT), "cuCtxGetCurrent");
    long before = out.get(JAVA_LONG, OUT);
    if (before == context) {
      return -1;
    }
    check(call(cuda.ctxSetCurrent, context), "cuCtxSetCurrent");
    return before;
  }

  @Override
  public void leave(long before) {
    if (before != -1) {
      check(call(cuda.ctxSetCurrent, before), "cuCtxSetCurrent");
    }
  }

  private long context(int ordinal) {
    if (ordinal < 0 || ordinal >= count) {
      throw new CudaException("cuDeviceGet(" + ordinal + ")", 101);
    }
    long context = contexts.get(ordinal);
    return context == 0 ? retain(ordinal) : context;
  }

  private synchronized long retain(int ordinal) {
    long context = contexts.get(ordinal);
    if (context == 0) {
      int device = device(ordinal);
      MemorySegment out = scratch.get();
      check(
          call(cuda.devicePrimaryCtxRetain, out.address() + OUT, device), "cuDevicePrimaryCtxRetain(" + ordinal + ")");
      context = out.get(JAVA_LONG, OUT);
      contexts.set(ordinal, context);
    }
    return context;
  }

  @Override
  public PointerInfo pointer(long address) {
    MemorySegment out = scratch.get();
    long base = out.address();
    for (int i = 0; i < POINTER_ATTRIBUTES.length; i++) {
      out.set(JAVA_INT, ATTRIBUTES + 4L * i, POINTER_ATTRIBUTES[i]);
      out.set(JAVA_LONG, DATA_POINTERS + 8L * i, base + DATA + 8L * i);
      out.set(JAVA_LONG, DATA + 8L * i, 0);
    }
    int result =
        cuda.pointerGetAttributes(POINTER_ATTRIBUTES.length, base + ATTRIBUTES, base + DATA_POINTERS, address);
    check(result, "cuPointerGetAttributes(" + hex(address) + ")");
    int type = out.get(JAVA_INT, DATA);
    boolean managed = out.get(JAVA_INT, DATA + 8) != 0;
    int ordinal = out.get(JAVA_INT, DATA + 16);
    long bufferId = out.get(JAVA_LONG, DATA + 24);
    long start = out.get(JAVA_LONG, DATA + 32);
    long length = out.get(JAVA_LONG, DATA + 40);
    boolean legacyIpc = out.get(JAVA_INT, DATA + 48) != 0;
    boolean exportable = (out.get(JAVA_LONG, DATA + 56) & HANDLE_TYPE_POSIX_FD) != 0;
    boolean pool = out.get(JAVA_LONG, DATA + 64) != 0;
    long context = out.get(JAVA_LONG, DATA + 72); // 0: memory that belongs to none, as virtual memory and pools
    if (managed) {
      return new PointerInfo(
          PointerInfo.Memory.MANAGED, ordinal, start, length, bufferId, PointerInfo.Sharing.NONE);
    }
    if (type == MEMORY_TYPE_HOST) {
      return new PointerInfo(PointerInfo.Memory.HOST, 0, start, length, bufferId, PointerInfo.Sharing.NONE);
    }
    if (type != MEMORY_TYPE_DEVICE) {
      return PointerInfo.UNKNOWN;
    }
    if (context != 0 && context != context(ordinal)) {
      return new PointerInfo(
          PointerInfo.Memory.FOREIGN, ordinal, start, length, bufferId, PointerInfo.Sharing.NONE);
    }
    PointerInfo.Sharing sharing =
        legacyIpc
            ? PointerInfo.Sharing.IPC
            : pool
                ? PointerInfo.Sharing.POOL
                : exportable ? PointerInfo.Sharing.PARTS : PointerInfo.Sharing.PARTS_REFUSED;
    long before = enter(ordinal); // unlike the attributes, the range is told only to a thread with a context
    try {
      check(
          call(cuda.memGetAddressRange, base + OUT, base + OUT2, address),
          "cuMemGetAddressRange(" + hex(address) + ")");
      start = out.get(JAVA_LONG, OUT);
      length = out.get(JAVA_LONG, OUT2);
    } finally {
      leave(before);
    }
    return new PointerInfo(
        PointerInfo.Memory.DEVICE, ordinal, start, length, bufferId, sharing);
  }

  // ------------------------------------------------------------------------------------------------ memory

  @Override
  public long allocate(long bytes) {
    MemorySegment out = scratch.get();
    int result = call(cuda.memAlloc, out.address() + OUT, bytes);
    if (result != CudaResults.SUCCESS) {
      throw new CudaException("cuMemAlloc(" + bytes + " bytes)", result);
    }
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void free(long address) {
    check(call(cuda.memFree, address), "cuMemFree");
  }

  @Override
  public long allocateHost(long bytes) {
    MemorySegment out = scratch.get();
    int result = call(cuda.memHostAlloc, out.address() + OUT, bytes, MEMHOSTALLOC_PORTABLE_DEVICEMAP);
    if (result != CudaResults.SUCCESS) {
      throw new CudaException("cuMemHostAlloc(" + bytes + " bytes)", result);
    }
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void freeHost(long address) {
    check(call(cuda.memFreeHost, address), "cuMemFreeHost");
  }

  @Override
  public void pinHost(long address, long bytes) {
    int result = call(cuda.memHostRegister, address, bytes, MEMHOSTREGISTER_PORTABLE_DEVICEMAP);
    if (result != CudaResults.SUCCESS) {
      throw new CudaException("cuMemHostRegister(" + hex(address) + ", " + bytes + " bytes)", result);
    }
  }

  @Override
  public void unpinHost(long address) {
    check(call(cuda.memHostUnregister, address), "cuMemHostUnregister");
  }

  @Override
  public void exportMemory(long address, long handle) {
    check(call(cuda.ipcGetMemHandle, handle, address), "cuIpcGetMemHandle");
  }

  @Override
  public long openMemory(long handle) {
    MemorySegment out = scratch.get();
    check(
        cuda.ipcOpenMemHandle(out.address() + OUT, handleAt(handle), IPC_LAZY_ENABLE_PEER_ACCESS),
        "cuIpcOpenMemHandle");
    return out.get(JAVA_LONG, OUT);
  }

  @SuppressWarnings("restricted") // the caller's handle, of this size by contract
  private static MemorySegment handleAt(long address) {
    return MemorySegment.ofAddress(address).reinterpret(IpcHandle.BYTES);
  }

  @Override
  public void closeMemory(long address) {
    check(call(cuda.ipcCloseMemHandle, address), "cuIpcCloseMemHandle");
  }

  @Override
  public DmaBuf exportDmaBuf(long address, long bytes) {
    String call = "cuMemGetHandleForAddressRange(" + hex(address) + ", " + bytes + " bytes)";
    MethodHandle function = cuda.memGetHandleForAddressRange;
    if (function == null) {
      throw new CudaException(call, 801);
    }
    MemorySegment out = scratch.get();
    check(
        CudaBindings.memGetHandleForAddressRange(
            function, out.address() + OUT, address, bytes, RANGE_HANDLE_DMA_BUF_FD, 0),
        call);
    return new DmaBuf(out.get(JAVA_INT, OUT), 0);
  }

  // ------------------------------------------------------------------------------------------------ streams

  @Override
  public long createStream() {
    MemorySegment out = scratch.get();
    check(call(cuda.streamCreate, out.address() + OUT, STREAM_NON_BLOCKING), "cuStreamCreate");
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void destroyStream(long stream) {
    check(call(cuda.streamDestroy, stream), "cuStreamDestroy");
  }

  @Override
  public boolean isStreamIdle(long stream) {
    return isDone(call(cuda.streamQuery, stream), "cuStreamQuery");
  }

  private static boolean isDone(int result, String call) {
    if (result == CudaResults.NOT_READY) {
      return false;
    }
    check(result, call);
    return true;
  }

  @Override
  public long createEvent(boolean timing, boolean interprocess) {
    MemorySegment out = scratch.get();
    int flags = (timing ? 0 : EVENT_DISABLE_TIMING) | (interprocess ? EVENT_INTERPROCESS : 0);
    check(call(cuda.eventCreate, out.address() + OUT, flags), "cuEventCreate");
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void destroyEvent(long event) {
    check(call(cuda.eventDestroy, event), "cuEventDestroy");
  }

  @Override
  public void recordEvent(long event, long stream) {
    check(call(cuda.eventRecord, event, stream), "cuEventRecord");
  }

  @Override
  public boolean isEventDone(long event) {
    return isDone(call(cuda.eventQuery, event), "cuEventQuery");
  }

  @Override
  public float elapsed(long from, long to) {
    MemorySegment out = scratch.get();
    check(call(cuda.eventElapsedTime, out.address() + OUT, from, to), "cuEventElapsedTime");
    return out.get(JAVA_FLOAT, OUT);
  }

  @Override
  public void waitEvent(long stream, long event) {
    check(call(cuda.streamWaitEvent, stream, event, 0), "cuStreamWaitEvent");
  }

  @Override
  public void exportEvent(long event, long handle) {
    check(call(cuda.ipcGetEventHandle, handle, event), "cuIpcGetEventHandle");
  }

  @Override
  public long openEvent(long handle) {
    MemorySegment out = scratch.get();
    check(cuda.ipcOpenEventHandle(out.address() + OUT, handleAt(handle)), "cuIpcOpenEventHandle");
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void writeValue(long stream, long address, long value) {
    check(call(cuda.streamWriteValue64, stream, address, value, 0), "cuStreamWriteValue64");
  }

  @Override
  public void waitValue(long stream, long address, long value) {
    check(call(cuda.streamWaitValue64, stream, address, value, STREAM_WAIT_VALUE_GEQ), "cuStreamWaitValue64");
  }

  @Override
  public void copy(long from, long to, long bytes, long stream) {
    int result = call(cuda.memcpyAsync, to, from, bytes, stream);
    if (result != CudaResults.SUCCESS) {
      throw new CudaException("cuMemcpyAsync(" + bytes + " bytes, " + hex(from) + " to " + hex(to) + ")", result);
    }
  }

  @Override
  public boolean hasCopyBatch() {
    return cuda.memcpyBatchAsyncV2 != null || cuda.memcpyBatchAsync != null;
  }

  @Override
  public void copyBatch(long froms, long tos, long sizes, long count, long stream) {
    MemorySegment out = scratch.get();
    out.asSlice(COPY_ATTRIBUTES, TEXT - COPY_ATTRIBUTES).fill((byte) 0);
    out.set(JAVA_INT, COPY_ATTRIBUTES, MEMCPY_SRC_ACCESS_ORDER_STREAM);
    long attributes = out.address() + COPY_ATTRIBUTES;
    long indices = out.address() + COPY_INDICES;
    MethodHandle newer = cuda.memcpyBatchAsyncV2;
    MethodHandle older = cuda.memcpyBatchAsync;
    int result;
    if (newer != null) {
      result = CudaBindings.memcpyBatchAsyncV2(newer, tos, froms, sizes, count, attributes, indices, stream);
    } else if (older != null) {
      long failed = out.address() + OUT;
      result = CudaBindings.memcpyBatchAsync(older, tos, froms, sizes, count, attributes, indices, failed, stream);
    } else {
      result = 801;
    }
    check(result, "cuMemcpyBatchAsync");
  }

  @Override
  public void fill(long address, byte value, long bytes, long stream) {
    check(cuda.memsetD8Async(address, value, bytes, stream), "cuMemsetD8Async");
  }

  // ------------------------------------------------------------------------------------------------ kernels

  @Override
  public byte[] kernelImage(int ordinal) {
    return KernelSources.ptx();
  }

  @Override
  public long loadModule(byte[] image) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment text = arena.allocate(image.length + 1L, 16); // PTX ends with a NUL
      MemorySegment.copy(image, 0, text, JAVA_BYTE, 0, image.length);
      MemorySegment out = scratch.get();
      check(call(cuda.moduleLoadData, out.address() + OUT, text.address()), "cuModuleLoadData");
      return out.get(JAVA_LONG, OUT);
    }
  }

  @Override
  public void unloadModule(long module) {
    check(call(cuda.moduleUnload, module), "cuModuleUnload");
  }

  @Override
  public long function(long module, String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = scratch.get();
      check(
          call(cuda.moduleGetFunction, out.address() + OUT, module, arena.allocateFrom(name).address()),
          "cuModuleGetFunction(" + name + ")");
      return out.get(JAVA_LONG, OUT);
    }
  }

  @Override
  public void launch(long function, int blocks, int threads, long stream, long parameters) {
    check(cuda.launchKernel(function, blocks, threads, stream, parameters), "cuLaunchKernel");
  }

  // ------------------------------------------------------------------------------------------------ peers

  @Override
  public boolean canAccessPeer(int ordinal, int peer) {
    int from = device(ordinal);
    int to = device(peer);
    MemorySegment out = scratch.get();
    check(call(cuda.deviceCanAccessPeer, out.address() + OUT, from, to), "cuDeviceCanAccessPeer");
    return out.get(JAVA_INT, OUT) != 0;
  }

  @Override
  public void enablePeer(int ordinal, int peer) {
    int result = call(cuda.ctxEnablePeerAccess, context(peer), 0);
    if (result != CudaResults.PEER_ACCESS_ALREADY_ENABLED) {
      check(result, "cuCtxEnablePeerAccess(" + ordinal + " to " + peer + ")");
    }
  }

  @Override
  public void copyPeer(long from, int fromOrdinal, long to, int toOrdinal, long bytes, long stream) {
    check(
        cuda.memcpyPeerAsync(to, context(toOrdinal), from, context(fromOrdinal), bytes, stream),
        "cuMemcpyPeerAsync(" + fromOrdinal + " to " + toOrdinal + ")");
  }

  @Override
  public String toString() {
    return description;
  }
}
