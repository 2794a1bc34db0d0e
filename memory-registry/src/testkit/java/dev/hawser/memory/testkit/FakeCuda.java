/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.testkit;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.cuda.CudaDriver;
import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.GpuMemory;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * {@code libcuda.so.1} over a {@link FakeGpu}: each function by an upcall stub, so that the whole binding is used as it is
 * with a real driver. Thread-safe.
 */
public final class FakeCuda {
  /** The version that it says it is, unless told else. */
  public static final int VERSION = 13_000;

  private static final int UNKNOWN = 999;
  private static final int INVALID_DEVICE = 101;
  private static final int INVALID_CONTEXT = 201;
  private static final int INVALID_IMAGE = 200;
  private static final int NOT_FOUND = 500;
  private static final long OTHER_CONTEXT = 0xc0ffee;
  private static final int PEER_UNSUPPORTED = 217;
  private static final int PEER_ENABLED = 704;
  private static final int NOT_SUPPORTED = 801;

  private final FakeGpu gpu;
  private final int version;
  private final FakeLibrary library;
  private final FakeKernels kernels;
  private final ThreadLocal<Long> current = ThreadLocal.withInitial(() -> 0L);

  /** A driver of {@link #VERSION}. */
  public FakeCuda(FakeGpu gpu) {
    this(gpu, VERSION);
  }

  /** A driver of another version, which lacks what came later. */
  public FakeCuda(FakeGpu gpu, int version) {
    this.gpu = gpu;
    this.version = version;
    this.kernels = new FakeKernels(gpu);
    this.library = new FakeLibrary(this, MethodHandles.lookup(), "cu[A-Z].*");
    if (version < 13_000) {
      library.remove("cuMemcpyBatchAsync_v2");
    }
    if (version < 11_070) {
      library.remove("cuMemGetHandleForAddressRange");
    }
  }

  /** Devices of a driver with one GPU of 1 GiB. */
  public static GpuMemory oneGpu() {
    return new FakeCuda(new FakeGpu(1, 1L << 30)).start();
  }

  /** What is behind it. */
  public FakeGpu gpu() {
    return gpu;
  }

  /** As the loader would have it. */
  public NativeLibrary library() {
    return NativeLibrary.of("fake libcuda.so.1", library);
  }

  /** Leaves a symbol out. */
  public FakeCuda without(String symbol) {
    library.remove(symbol);
    return this;
  }

  /** Starts the driver. */
  public GpuMemory start() {
    return GpuMemory.of(CudaDriver.start(library()));
  }

  /** The context that is current on this thread: 0 for none, else the device's number plus 1. */
  public long currentContext() {
    return current.get();
  }

  /** Makes a device's context current on this thread, as the user's code does. */
  public void setCurrentContext(long context) {
    current.set(context);
  }

  private int answer(String function, IntSupplier body) {
    try {
      int ordered = gpu.begin(function);
      return ordered != 0 ? ordered : body.getAsInt();
    } catch (RuntimeException e) {
      return UNKNOWN; // nothing may be thrown through C
    }
  }

  private int inContext(String function, IntSupplier body) {
    return answer(function, () -> current.get() == 0 ? INVALID_CONTEXT : body.getAsInt());
  }

  private int device() {
    return (int) (current.get() - 1);
  }

  private static void setInt(long address, int value) {
    FakeGpu.ALL.set(JAVA_INT, address, value);
  }

  private static void setLong(long address, long value) {
    FakeGpu.ALL.set(JAVA_LONG, address, value);
  }

  private static int put(long address, long value) {
    setLong(address, value);
    return 0;
  }

  private static int putInt(long address, int value) {
    setInt(address, value);
    return 0;
  }

  private static int putText(long address, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    MemorySegment.copy(bytes, 0, FakeGpu.ALL, JAVA_BYTE, address, bytes.length);
    FakeGpu.ALL.set(JAVA_BYTE, address + bytes.length, (byte) 0);
    return 0;
  }

  // ------------------------------------------------------------------------------------------------ devices

  int cuInit(int flags) {
    return answer("cuInit", () -> 0);
  }

  int cuDriverGetVersion(long out) {
    return answer("cuDriverGetVersion", () -> putInt(out, version));
  }

  int cuDeviceGetCount(long out) {
    return answer("cuDeviceGetCount", () -> putInt(out, gpu.devices()));
  }

  int cuDeviceGet(long out, int ordinal) {
    return answer("cuDeviceGet", () -> ordinal >= gpu.devices() ? INVALID_DEVICE : putInt(out, ordinal));
  }

  int cuDeviceGetName(long out, int length, int device) {
    return answer("cuDeviceGetName", () -> putText(out, "Fake GPU " + device));
  }

  int cuDeviceGetUuid_v2(long out, int device) {
    return answer(
        "cuDeviceGetUuid_v2",
        () -> {
          setLong(out, 0x4657);
          return put(out + 8, device);
        });
  }

  int cuDeviceGetPCIBusId(long out, int length, int device) {
    return answer("cuDeviceGetPCIBusId", () -> putText(out, String.format("0000:%02X:00.0", 0x3b + device)));
  }

  int cuDeviceGetAttribute(long out, int attribute, int device) {
    return answer(
        "cuDeviceGetAttribute",
        () -> switch (attribute) {
          case 16 -> putInt(out, 4);
          case 75 -> putInt(out, 9);
          case 76 -> putInt(out, 0);
          case 93, 122, 124 -> putInt(out, 1);
          default -> FakeGpu.INVALID_VALUE;
        });
  }

  int cuDeviceTotalMem_v2(long out, int device) {
    return answer("cuDeviceTotalMem_v2", () -> put(out, gpu.deviceBytes()));
  }

  int cuDevicePrimaryCtxRetain(long out, int device) {
    return answer(
        "cuDevicePrimaryCtxRetain",
        () -> {
          return put(out, device + 1);
        });
  }

  int cuCtxSetCurrent(long context) {
    return answer(
        "cuCtxSetCurrent",
        () -> {
          current.set(context);
          return 0;
        });
  }

  int cuCtxGetCurrent(long out) {
    return answer("cuCtxGetCurrent", () -> put(out, current.get()));
  }

  int cuDeviceCanAccessPeer(long out, int device, int peer) {
    return answer("cuDeviceCanAccessPeer", () -> putInt(out, gpu.peersReach() ? 1 : 0));
  }

  int cuCtxEnablePeerAccess(long context, int flags) {
    return inContext(
        "cuCtxEnablePeerAccess",
        () -> !gpu.peersReach() ? PEER_UNSUPPORTED : gpu.calls("cuCtxEnablePeerAccess") > 1 ? PEER_ENABLED : 0);
  }

  int cuMemcpyPeerAsync(long to, long toContext, long from, long fromContext, long bytes, long stream) {
    return inContext(
        "cuMemcpyPeerAsync",
        () -> gpu.liesOn(to, (int) toContext - 1) && gpu.liesOn(from, (int) fromContext - 1)
            ? gpu.copy(from, to, bytes, stream)
            : FakeGpu.INVALID_VALUE);
  }

  // ------------------------------------------------------------------------------------------------ memory

  int cuPointerGetAttributes(int count, long attributes, long data, long pointer) {
    return answer(
        "cuPointerGetAttributes",
        () -> {
          FakeGpu.Allocation found = gpu.find(pointer, 1);
          for (int i = 0; i < count; i++) {
            answerAttribute(
                FakeGpu.ALL.get(JAVA_INT, attributes + 4L * i), FakeGpu.ALL.get(JAVA_LONG, data + 8L * i), found);
          }
          return 0;
        });
  }

  private static void answerAttribute(int attribute, long out, FakeGpu.@Nullable Allocation a) {
    boolean host = a != null && a.kind() == FakeGpu.Kind.HOST;
    switch (attribute) {
      case 1 -> setLong(out, a != null && a.kind() == FakeGpu.Kind.FOREIGN ? OTHER_CONTEXT : 0);
      case 2 -> setInt(out, a == null ? 0 : host ? 1 : 2);
      case 7 -> setLong(out, a == null ? 0 : a.bufferId());
      case 8 -> setInt(out, a != null && a.kind() == FakeGpu.Kind.MANAGED ? 1 : 0);
      case 9 -> setInt(out, a == null ? -2 : a.device());
      case 10 -> setInt(out, a != null && a.kind() == FakeGpu.Kind.PLAIN ? 1 : 0);
      case 11 -> setLong(out, a == null ? 0 : a.address());
      case 12 -> setLong(out, a == null ? 0 : a.bytes());
      case 14 -> setLong(out, a != null && a.kind() == FakeGpu.Kind.VIRTUAL_EXPORTABLE ? 1 : 0);
      case 17 -> setLong(out, a != null && a.kind() == FakeGpu.Kind.POOL ? 1 : 0);
      default -> setLong(out, 0);
    }
  }

  int cuMemGetAddressRange_v2(long base, long size, long pointer) {
    return inContext(
        "cuMemGetAddressRange_v2",
        () -> {
          FakeGpu.Allocation found = gpu.find(pointer, 1);
          if (found == null) {
            return NOT_FOUND;
          }
          setLong(base, found.address());
          return put(size, found.bytes());
        });
  }

  int cuMemAlloc_v2(long out, long bytes) {
    return inContext(
        "cuMemAlloc_v2",
        () -> bytes == 0
            ? FakeGpu.INVALID_VALUE
            : bytes > gpu.deviceBytes() - gpu.used(device())
                ? FakeGpu.OUT_OF_MEMORY
                : put(out, gpu.newAllocation(FakeGpu.Kind.PLAIN, device(), bytes)));
  }

  int cuMemFree_v2(long address) {
    return inContext("cuMemFree_v2", () -> gpu.free(address));
  }

  int cuMemHostAlloc(long out, long bytes, int flags) {
    return inContext("cuMemHostAlloc", () -> put(out, gpu.newAllocation(FakeGpu.Kind.HOST, 0, bytes)));
  }

  int cuMemFreeHost(long address) {
    return inContext("cuMemFreeHost", () -> gpu.free(address));
  }

  int cuMemHostRegister_v2(long address, long bytes, int flags) {
    return inContext("cuMemHostRegister_v2", () -> gpu.pin(address, bytes));
  }

  int cuMemHostUnregister(long address) {
    return inContext("cuMemHostUnregister", () -> gpu.unpin(address));
  }

  int cuIpcGetMemHandle(long handle, long address) {
    return inContext("cuIpcGetMemHandle", () -> gpu.export(address, handle));
  }

  int cuIpcOpenMemHandle_v2(long out, MemorySegment handle, int flags) {
    return inContext(
        "cuIpcOpenMemHandle_v2",
        () -> {
          if (!gpu.peersReach() && gpu.home(handle) != device()) {
            return PEER_UNSUPPORTED;
          }
          long address = gpu.open(handle);
          return address == 0 ? FakeGpu.INVALID_VALUE : put(out, address);
        });
  }

  int cuIpcCloseMemHandle(long address) {
    return inContext("cuIpcCloseMemHandle", () -> gpu.close(address));
  }

  int cuIpcGetEventHandle(long handle, long event) {
    return inContext("cuIpcGetEventHandle", () -> gpu.exportEvent(event, handle));
  }

  int cuIpcOpenEventHandle(long out, MemorySegment handle) {
    return inContext(
        "cuIpcOpenEventHandle",
        () -> {
          long event = gpu.openEvent(handle);
          return event == 0 ? FakeGpu.INVALID_VALUE : put(out, event);
        });
  }

  int cuMemGetHandleForAddressRange(long out, long address, long bytes, int type, long flags) {
    return inContext(
        "cuMemGetHandleForAddressRange",
        () -> {
          FakeGpu.Allocation found = gpu.find(address, bytes);
          return found == null || type != 1 || flags != 0 ? NOT_SUPPORTED : putInt(out, found.fd());
        });
  }

  // ------------------------------------------------------------------------------------------------ streams

  int cuStreamCreate(long out, int flags) {
    return inContext("cuStreamCreate", () -> put(out, gpu.newStream()));
  }

  int cuStreamDestroy_v2(long stream) {
    return inContext("cuStreamDestroy_v2", () -> gpu.destroyStream(stream));
  }

  int cuStreamQuery(long stream) {
    return inContext("cuStreamQuery", () -> gpu.query(stream));
  }

  int cuStreamWaitEvent(long stream, long event, int flags) {
    return inContext("cuStreamWaitEvent", () -> gpu.waitEvent(stream, event));
  }

  int cuStreamWriteValue64_v2(long stream, long address, long value, int flags) {
    return inContext("cuStreamWriteValue64_v2", () -> gpu.writeValue(stream, address, value));
  }

  int cuStreamWaitValue64_v2(long stream, long address, long value, int flags) {
    return inContext(
        "cuStreamWaitValue64_v2", () -> flags != 0 ? NOT_SUPPORTED : gpu.waitValue(stream, address, value));
  }

  int cuEventCreate(long out, int flags) {
    return inContext("cuEventCreate", () -> put(out, gpu.newEvent()));
  }

  int cuEventDestroy_v2(long event) {
    return inContext("cuEventDestroy_v2", () -> gpu.destroyEvent(event));
  }

  int cuEventRecord(long event, long stream) {
    return inContext("cuEventRecord", () -> gpu.record(event, stream));
  }

  int cuEventQuery(long event) {
    return inContext("cuEventQuery", () -> gpu.queryEvent(event));
  }

  int cuEventElapsedTime_v2(long out, long start, long end) {
    return inContext(
        "cuEventElapsedTime_v2",
        () -> {
          FakeGpu.ALL.set(JAVA_FLOAT, out, 0.5f);
          return 0;
        });
  }

  int cuMemcpyAsync(long to, long from, long bytes, long stream) {
    return inContext("cuMemcpyAsync", () -> gpu.copy(from, to, bytes, stream));
  }

  int cuMemcpyBatchAsync_v2(
      long tos, long froms, long sizes, long count, long attributes, long indices, long attributeCount, long stream) {
    return inContext("cuMemcpyBatchAsync_v2", () -> batch(tos, froms, sizes, count, attributes, indices, stream));
  }

  int cuMemcpyBatchAsync(
      long tos,
      long froms,
      long sizes,
      long count,
      long attributes,
      long indices,
      long attributeCount,
      long failed,
      long stream) {
    return inContext("cuMemcpyBatchAsync", () -> batch(tos, froms, sizes, count, attributes, indices, stream));
  }

  private int batch(long tos, long froms, long sizes, long count, long attributes, long indices, long stream) {
    if (FakeGpu.ALL.get(JAVA_INT, attributes) != 1 || FakeGpu.ALL.get(JAVA_LONG, indices) != 0) {
      return FakeGpu.INVALID_VALUE;
    }
    for (long i = 0; i < count; i++) {
      gpu.copy(
          FakeGpu.ALL.get(JAVA_LONG, froms + 8 * i),
          FakeGpu.ALL.get(JAVA_LONG, tos + 8 * i),
          FakeGpu.ALL.get(JAVA_LONG, sizes + 8 * i),
          stream);
    }
    return 0;
  }

  int cuMemsetD8Async(long address, byte value, long bytes, long stream) {
    return inContext(
        "cuMemsetD8Async",
        () -> gpu.enqueue(
            stream,
            () -> {
              FakeGpu.ALL.asSlice(address, bytes).fill(value);
              return true;
            }));
  }

  // ------------------------------------------------------------------------------------------------ kernels

  int cuModuleLoadData(long out, long image) {
    return inContext(
        "cuModuleLoadData",
        () -> {
          String text = FakeGpu.ALL.asSlice(image).getString(0);
          boolean whole = FakeKernels.NAMES.stream().allMatch(name -> text.contains(".entry " + name + "("));
          return whole ? put(out, 0x4d) : INVALID_IMAGE;
        });
  }

  int cuModuleUnload(long module) {
    return inContext("cuModuleUnload", () -> 0);
  }

  int cuModuleGetFunction(long out, long module, long name) {
    return inContext(
        "cuModuleGetFunction",
        () -> {
          int index = FakeKernels.NAMES.indexOf(FakeGpu.ALL.asSlice(name).getString(0));
          return index < 0 ? NOT_FOUND : put(out, 0x4600 + index);
        });
  }

  int cuLaunchKernel(
      long function,
      int gridX,
      int gridY,
      int gridZ,
      int blockX,
      int blockY,
      int blockZ,
      int sharedBytes,
      long stream,
      long parameters,
      long extra) {
    return inContext(
        "cuLaunchKernel",
        () -> {
          if (gridX < 1 || blockX < 1 || blockX > 1024) {
            return FakeGpu.INVALID_VALUE;
          }
          BooleanSupplier work = kernels.launch((int) (function - 0x4600), parameters);
          return work == null ? FakeGpu.INVALID_HANDLE : gpu.enqueue(stream, work);
        });
  }
}
