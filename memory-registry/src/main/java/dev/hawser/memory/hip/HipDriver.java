/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

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
import java.util.HexFormat;
import java.util.Locale;

/**
 * HIP as a {@link GpuDriver}. Thread-safe.
 *
 * <p>Where it differs from CUDA: a dma-buf comes from the HSA runtime, with an offset that need not be 0; kernels are
 * compiled when they are first used; waiting for a value needs memory that HIP calls signal memory on some devices, and
 * compares without sign.
 *
 * <p>Source: HIP runtime API 5.2 and 6.
 */
public final class HipDriver implements GpuDriver {
  private static final int VERSION_MAJOR = 10_000_000;
  private static final int VERSION_MINOR = 100_000;
  private static final int OLDEST_MAJOR = 5;

  private static final int NAME_BYTES = 256;
  private static final int PCI_BUS_ID_BYTES = 32;

  // hipDeviceAttribute_t
  private static final int MULTIPROCESSOR_COUNT = 63;
  private static final int CAN_USE_STREAM_WAIT_VALUE = 10_013;

  // hipPointer_attribute
  private static final int MEMORY_TYPE = 2;
  private static final int BUFFER_ID = 7;
  private static final int IS_MANAGED = 8;
  private static final int DEVICE_ORDINAL = 9;
  private static final int RANGE_START_ADDR = 11;
  private static final int RANGE_SIZE = 12;

  private static final int HOST_MALLOC_PORTABLE_MAPPED = 3;
  private static final int HOST_REGISTER_PORTABLE_MAPPED = 3;
  private static final int IPC_LAZY_ENABLE_PEER_ACCESS = 0;
  private static final int STREAM_NON_BLOCKING = 1;
  private static final int EVENT_DISABLE_TIMING = 2;
  private static final int EVENT_INTERPROCESS = 4;
  private static final int STREAM_WAIT_VALUE_GTE = 0;
  private static final int MEMCPY_DEFAULT = 4;

  private static final long OUT = 0;
  private static final long OUT2 = 8;
  private static final long TEXT = 64;
  private static final long SCRATCH_BYTES = TEXT + NAME_BYTES;

  private final HipBindings hip;
  private final HipCompiler compiler;
  private final DmaBufExporter dmaBufs;
  private final String description;
  private final int major;
  private final int count;
  private final ThreadLocal<MemorySegment> scratch = ThreadLocal.withInitial(HipDriver::newScratch);

  private HipDriver(
      HipBindings hip, HipCompiler compiler, DmaBufExporter dmaBufs, String description, int major, int count) {
    this.hip = hip;
    this.compiler = compiler;
    this.dmaBufs = dmaBufs;
    this.description = description;
    this.major = major;
    this.count = count;
  }

  /**
   * Starts HIP.
   *
   * @param library {@code libamdhip64}
   * @param compilerLibrary where {@code hiprtc} is: the same, or {@code libhiprtc}
   * @param hsa {@code libhsa-runtime64}, for dma-bufs
   * @throws DeviceAbsentException if it lacks a call, is too old, or sees no device
   */
  public static HipDriver start(NativeLibrary library, NativeLibrary compilerLibrary, NativeLibrary hsa) {
    HipBindings hip;
    HipCompiler compiler;
    try {
      hip = new HipBindings(library);
      compiler = new HipCompiler(compilerLibrary);
    } catch (MissingNativeException e) {
      throw new DeviceAbsentException(DeviceKind.HIP, e.getMessage() + "; install ROCm 5 or newer");
    }
    MemorySegment out = newScratch();
    refuse(call(hip.init, 0), "hipInit");
    refuse(call(hip.runtimeGetVersion, out.address() + OUT), "hipRuntimeGetVersion");
    int version = out.get(JAVA_INT, OUT);
    String dotted = version / VERSION_MAJOR + "." + version % VERSION_MAJOR / VERSION_MINOR;
    if (version / VERSION_MAJOR < OLDEST_MAJOR) {
      throw new DeviceAbsentException(
          DeviceKind.HIP, library + " is HIP " + dotted + "; install ROCm 5 or newer");
    }
    refuse(call(hip.getDeviceCount, out.address() + OUT), "hipGetDeviceCount");
    int count = out.get(JAVA_INT, OUT);
    if (count == 0) {
      throw new DeviceAbsentException(DeviceKind.HIP, HipResults.advice(100));
    }
    return new HipDriver(
        hip,
        compiler,
        new DmaBufExporter(hsa),
        "HIP " + dotted + " (" + library + ")",
        version / VERSION_MAJOR,
        count);
  }

  private static void refuse(int result, String call) {
    if (result != HipResults.SUCCESS) {
      throw new DeviceAbsentException(
          DeviceKind.HIP, String.valueOf(new HipException(call, result).getMessage()));
    }
  }

  private static MemorySegment newScratch() {
    return Arena.ofAuto().allocate(SCRATCH_BYTES, 16);
  }

  private static void check(int result, String call) {
    if (result != HipResults.SUCCESS) {
      throw new HipException(call, result);
    }
  }

  private static String hex(long address) {
    return "0x" + Long.toHexString(address);
  }

  // ------------------------------------------------------------------------------------------------ devices

  @Override
  public DeviceKind kind() {
    return DeviceKind.HIP;
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
    MemorySegment out = scratch.get();
    long text = out.address() + TEXT;
    check(call(hip.deviceGetName, text, NAME_BYTES, ordinal), "hipDeviceGetName(" + ordinal + ")");
    String name = out.getString(TEXT);
    check(call(hip.deviceGetPciBusId, text, PCI_BUS_ID_BYTES, ordinal), "hipDeviceGetPCIBusId");
    String bus = out.getString(TEXT).toLowerCase(Locale.ROOT);
    check(call(hip.deviceGetUuid, text, ordinal), "hipDeviceGetUuid");
    String uuid = HexFormat.of().formatHex(out.asSlice(TEXT, 16).toArray(JAVA_BYTE));
    check(call(hip.deviceTotalMem, out.address() + OUT, ordinal), "hipDeviceTotalMem");
    long bytes = out.get(JAVA_LONG, OUT);
    check(
        call(hip.deviceGetAttribute, out.address() + OUT, MULTIPROCESSOR_COUNT, ordinal),
        "hipDeviceGetAttribute(" + MULTIPROCESSOR_COUNT + ")");
    int multiprocessors = out.get(JAVA_INT, OUT);
    boolean values =
        call(hip.deviceGetAttribute, out.address() + OUT, CAN_USE_STREAM_WAIT_VALUE, ordinal) == HipResults.SUCCESS
            && out.get(JAVA_INT, OUT) != 0;
    return new GpuProperties(
        ordinal, name, bus, uuid, bytes, multiprocessors, "gfx", dmaBufs.present(), values);
  }

  /** The device that was current, which {@link #leave} makes current again; −1 if that is the right one already. */
  @Override
  public long enter(int ordinal) {
    MemorySegment out = scratch.get();
    check(call(hip.getDevice, out.address() + OUT), "hipGetDevice");
    int before = out.get(JAVA_INT, OUT);
    if (before == ordinal) {
      return -1;
    }
    check(call(hip.setDevice, ordinal), "hipSetDevice(" + ordinal + ")");
    return before;
  }

  @Override
  public void leave(long before) {
    if (before != -1) {
      check(call(hip.setDevice, (int) before), "hipSetDevice");
    }
  }

  @Override
  public PointerInfo pointer(long address) {
    MemorySegment out = scratch.get();
    out.set(JAVA_LONG, OUT, 0);
    int result = hip.pointerGetAttribute(out.address() + OUT, MEMORY_TYPE, address);
    if (result == HipResults.INVALID_VALUE) {
      int ignored = hip.getLastError(); // asking leaves no error behind for the user's code to find
      return PointerInfo.UNKNOWN;
    }
    check(result, "hipPointerGetAttribute(" + hex(address) + ")");
    PointerInfo.Memory memory = memory(out.get(JAVA_INT, OUT), attribute(IS_MANAGED, address) != 0);
    if (memory == PointerInfo.Memory.UNKNOWN) {
      return PointerInfo.UNKNOWN;
    }
    long bufferId = attribute(BUFFER_ID, address);
    if (memory != PointerInfo.Memory.DEVICE) {
      return new PointerInfo(
          memory, 0, attribute(RANGE_START_ADDR, address), attribute(RANGE_SIZE, address), bufferId,
          PointerInfo.Sharing.NONE);
    }
    int ordinal = (int) attribute(DEVICE_ORDINAL, address);
    check(
        call(hip.memGetAddressRange, out.address() + OUT, out.address() + OUT2, address),
        "hipMemGetAddressRange(" + hex(address) + ")");
    return new PointerInfo(
        memory, ordinal, out.get(JAVA_LONG, OUT), out.get(JAVA_LONG, OUT2), bufferId, PointerInfo.Sharing.IPC);
  }

  /** hipMemoryType was numbered anew in HIP 6, as CUDA's runtime numbers it. */
  private PointerInfo.Memory memory(int type, boolean managed) {
    if (managed) {
      return PointerInfo.Memory.MANAGED;
    }
    int host = major >= 6 ? 1 : 0;
    return type == host
        ? PointerInfo.Memory.HOST
        : type == host + 1
            ? PointerInfo.Memory.DEVICE
            : type == 3 ? PointerInfo.Memory.MANAGED : PointerInfo.Memory.UNKNOWN;
  }

  /** One attribute; 0 where this version does not know it. */
  private long attribute(int attribute, long address) {
    MemorySegment out = scratch.get();
    out.set(JAVA_LONG, OUT, 0);
    if (hip.pointerGetAttribute(out.address() + OUT, attribute, address) != HipResults.SUCCESS) {
      int ignored = hip.getLastError();
      return 0;
    }
    return out.get(JAVA_LONG, OUT);
  }

  // ------------------------------------------------------------------------------------------------ memory

  @Override
  public long allocate(long bytes) {
    MemorySegment out = scratch.get();
    int result = call(hip.malloc, out.address() + OUT, bytes);
    if (result != HipResults.SUCCESS) {
      throw new HipException("hipMalloc(" + bytes + " bytes)", result);
    }
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void free(long address) {
    check(call(hip.free, address), "hipFree");
  }

  @Override
  public long allocateHost(long bytes) {
    MemorySegment out = scratch.get();
    int result = call(hip.hostMalloc, out.address() + OUT, bytes, HOST_MALLOC_PORTABLE_MAPPED);
    if (result != HipResults.SUCCESS) {
      throw new HipException("hipHostMalloc(" + bytes + " bytes)", result);
    }
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void freeHost(long address) {
    check(call(hip.hostFree, address), "hipHostFree");
  }

  @Override
  public void pinHost(long address, long bytes) {
    int result = call(hip.hostRegister, address, bytes, HOST_REGISTER_PORTABLE_MAPPED);
    if (result != HipResults.SUCCESS) {
      throw new HipException("hipHostRegister(" + hex(address) + ", " + bytes + " bytes)", result);
    }
  }

  @Override
  public void unpinHost(long address) {
    check(call(hip.hostUnregister, address), "hipHostUnregister");
  }

  @Override
  public void exportMemory(long address, long handle) {
    check(call(hip.ipcGetMemHandle, handle, address), "hipIpcGetMemHandle");
  }

  @Override
  public long openMemory(long handle) {
    MemorySegment out = scratch.get();
    check(
        hip.ipcOpenMemHandle(out.address() + OUT, handleAt(handle), IPC_LAZY_ENABLE_PEER_ACCESS),
        "hipIpcOpenMemHandle");
    return out.get(JAVA_LONG, OUT);
  }

  @SuppressWarnings("restricted") // the caller's handle, of this size by contract
  private static MemorySegment handleAt(long address) {
    return MemorySegment.ofAddress(address).reinterpret(IpcHandle.BYTES);
  }

  @Override
  public void closeMemory(long address) {
    check(call(hip.ipcCloseMemHandle, address), "hipIpcCloseMemHandle");
  }

  @Override
  public DmaBuf exportDmaBuf(long address, long bytes) {
    return dmaBufs.export(address, bytes);
  }

  // ------------------------------------------------------------------------------------------------ streams

  @Override
  public long createStream() {
    MemorySegment out = scratch.get();
    check(call(hip.streamCreateWithFlags, out.address() + OUT, STREAM_NON_BLOCKING), "hipStreamCreateWithFlags");
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void destroyStream(long stream) {
    check(call(hip.streamDestroy, stream), "hipStreamDestroy");
  }

  @Override
  public boolean isStreamIdle(long stream) {
    return isDone(call(hip.streamQuery, stream), "hipStreamQuery");
  }

  private static boolean isDone(int result, String call) {
    if (result == HipResults.NOT_READY) {
      return false;
    }
    check(result, call);
    return true;
  }

  @Override
  public long createEvent(boolean timing, boolean interprocess) {
    MemorySegment out = scratch.get();
    int flags = (timing ? 0 : EVENT_DISABLE_TIMING) | (interprocess ? EVENT_INTERPROCESS : 0);
    check(call(hip.eventCreateWithFlags, out.address() + OUT, flags), "hipEventCreateWithFlags");
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void destroyEvent(long event) {
    check(call(hip.eventDestroy, event), "hipEventDestroy");
  }

  @Override
  public void recordEvent(long event, long stream) {
    check(call(hip.eventRecord, event, stream), "hipEventRecord");
  }

  @Override
  public boolean isEventDone(long event) {
    return isDone(call(hip.eventQuery, event), "hipEventQuery");
  }

  @Override
  public float elapsed(long from, long to) {
    MemorySegment out = scratch.get();
    check(call(hip.eventElapsedTime, out.address() + OUT, from, to), "hipEventElapsedTime");
    return out.get(JAVA_FLOAT, OUT);
  }

  @Override
  public void waitEvent(long stream, long event) {
    check(call(hip.streamWaitEvent, stream, event, 0), "hipStreamWaitEvent");
  }

  @Override
  public void exportEvent(long event, long handle) {
    check(call(hip.ipcGetEventHandle, handle, event), "hipIpcGetEventHandle");
  }

  @Override
  public long openEvent(long handle) {
    MemorySegment out = scratch.get();
    check(hip.ipcOpenEventHandle(out.address() + OUT, handleAt(handle)), "hipIpcOpenEventHandle");
    return out.get(JAVA_LONG, OUT);
  }

  @Override
  public void writeValue(long stream, long address, long value) {
    check(call(hip.streamWriteValue64, stream, address, value, 0), "hipStreamWriteValue64");
  }

  @Override
  public void waitValue(long stream, long address, long value) {
    check(hip.streamWaitValue64(stream, address, value, STREAM_WAIT_VALUE_GTE, -1), "hipStreamWaitValue64");
  }

  @Override
  public void copy(long from, long to, long bytes, long stream) {
    int result = hip.memcpyAsync(to, from, bytes, MEMCPY_DEFAULT, stream);
    if (result != HipResults.SUCCESS) {
      throw new HipException("hipMemcpyAsync(" + bytes + " bytes, " + hex(from) + " to " + hex(to) + ")", result);
    }
  }

  @Override
  public boolean hasCopyBatch() {
    return false;
  }

  @Override
  public void copyBatch(long froms, long tos, long sizes, long count, long stream) {
    throw new HipException("hipMemcpyBatchAsync", HipResults.NOT_SUPPORTED);
  }

  @Override
  public void fill(long address, byte value, long bytes, long stream) {
    check(hip.memsetAsync(address, value & 0xff, bytes, stream), "hipMemsetAsync");
  }

  // ------------------------------------------------------------------------------------------------ kernels

  /** Compiles the source for the device, which is entered. */
  @Override
  public byte[] kernelImage(int ordinal) {
    return compiler.compile(KernelSources.source(), "");
  }

  @Override
  public long loadModule(byte[] image) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment code = arena.allocate(image.length, 4096);
      MemorySegment.copy(image, 0, code, JAVA_BYTE, 0, image.length);
      MemorySegment out = scratch.get();
      check(call(hip.moduleLoadData, out.address() + OUT, code.address()), "hipModuleLoadData");
      return out.get(JAVA_LONG, OUT);
    }
  }

  @Override
  public void unloadModule(long module) {
    check(call(hip.moduleUnload, module), "hipModuleUnload");
  }

  @Override
  public long function(long module, String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = scratch.get();
      check(
          call(hip.moduleGetFunction, out.address() + OUT, module, arena.allocateFrom(name).address()),
          "hipModuleGetFunction(" + name + ")");
      return out.get(JAVA_LONG, OUT);
    }
  }

  @Override
  public void launch(long function, int blocks, int threads, long stream, long parameters) {
    check(hip.moduleLaunchKernel(function, blocks, threads, stream, parameters), "hipModuleLaunchKernel");
  }

  // ------------------------------------------------------------------------------------------------ peers

  @Override
  public boolean canAccessPeer(int ordinal, int peer) {
    MemorySegment out = scratch.get();
    check(call(hip.deviceCanAccessPeer, out.address() + OUT, ordinal, peer), "hipDeviceCanAccessPeer");
    return out.get(JAVA_INT, OUT) != 0;
  }

  @Override
  public void enablePeer(int ordinal, int peer) {
    int result = hip.enablePeerAccess(peer, 0);
    if (result == HipResults.PEER_ACCESS_ALREADY_ENABLED) {
      int ignored = hip.getLastError();
      return;
    }
    check(result, "hipDeviceEnablePeerAccess(" + ordinal + " to " + peer + ")");
  }

  /** The runtime finds the devices by the addresses, and goes through the host itself where it must. */
  @Override
  public void copyPeer(long from, int fromOrdinal, long to, int toOrdinal, long bytes, long stream) {
    copy(from, to, bytes, stream);
  }

  @Override
  public String toString() {
    return description;
  }
}
