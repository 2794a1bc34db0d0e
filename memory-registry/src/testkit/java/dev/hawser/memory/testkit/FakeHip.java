/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.testkit;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import dev.hawser.memory.gpu.GpuMemory;
import dev.hawser.memory.hip.HipDriver;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;

/** {@code libamdhip64}, with its compiler and the HSA runtime, over a {@link FakeGpu}. Thread-safe. */
public final class FakeHip {
  private static final int UNKNOWN = 999;
  private static final int INVALID_DEVICE = 101;
  private static final int INVALID_IMAGE = 200;
  private static final int NOT_FOUND = 500;
  private static final int PEER_ENABLED = 704;
  private static final byte[] CODE = "code object of the fake compiler".getBytes(StandardCharsets.US_ASCII);

  private final FakeGpu gpu;
  private final int major;
  private final FakeLibrary library;
  private final FakeKernels kernels;
  private final ThreadLocal<Integer> current = ThreadLocal.withInitial(() -> 0);

  /** HIP of a major version: 5 and 6 number the types of memory differently. */
  public FakeHip(FakeGpu gpu, int major) {
    this.gpu = gpu;
    this.major = major;
    this.kernels = new FakeKernels(gpu);
    this.library = new FakeLibrary(this, MethodHandles.lookup(), "(hip(rtc)?[A-Z]|hsa_amd_).*");
  }

  /** What is behind it. */
  public FakeGpu gpu() {
    return gpu;
  }

  /** Leaves a symbol out. */
  public FakeHip without(String symbol) {
    library.remove(symbol);
    return this;
  }

  /** Starts HIP. */
  public GpuMemory start() {
    NativeLibrary all = NativeLibrary.of("fake libamdhip64.so", library);
    return GpuMemory.of(HipDriver.start(all, all, all));
  }

  private int answer(String function, IntSupplier body) {
    try {
      int ordered = gpu.begin(function);
      return ordered != 0 ? ordered : body.getAsInt();
    } catch (RuntimeException e) {
      return UNKNOWN; // nothing may be thrown through C
    }
  }

  private static int put(long address, long value) {
    FakeGpu.ALL.set(JAVA_LONG, address, value);
    return 0;
  }

  private static int putInt(long address, int value) {
    FakeGpu.ALL.set(JAVA_INT, address, value);
    return 0;
  }

  private static int putText(long address, String text) {
    FakeGpu.ALL.setString(address, text);
    return 0;
  }

  // ------------------------------------------------------------------------------------------------ devices

  int hipInit(int flags) {
    return answer("hipInit", () -> 0);
  }

  int hipRuntimeGetVersion(long out) {
    return answer("hipRuntimeGetVersion", () -> putInt(out, major * 10_000_000 + 2 * 100_000 + 21_153));
  }

  int hipGetDeviceCount(long out) {
    return answer("hipGetDeviceCount", () -> putInt(out, gpu.devices()));
  }

  int hipSetDevice(int device) {
    return answer(
        "hipSetDevice",
        () -> {
          if (device < 0 || device >= gpu.devices()) {
            return INVALID_DEVICE;
          }
          current.set(device);
          return 0;
        });
  }

  int hipGetDevice(long out) {
    return answer("hipGetDevice", () -> putInt(out, current.get()));
  }

  int hipGetLastError() {
    return answer("hipGetLastError", () -> 0);
  }

  int hipDeviceGetName(long out, int length, int device) {
    return answer("hipDeviceGetName", () -> putText(out, "Fake Instinct " + device));
  }

  int hipDeviceGetPCIBusId(long out, int length, int device) {
    return answer("hipDeviceGetPCIBusId", () -> putText(out, "0000:C" + device + ":00.0"));
  }

  int hipDeviceGetUuid(long out, int device) {
    return answer(
        "hipDeviceGetUuid",
        () -> {
          put(out, 0x4841);
          return put(out + 8, device);
        });
  }

  int hipDeviceGetAttribute(long out, int attribute, int device) {
    return answer(
        "hipDeviceGetAttribute",
        () -> switch (attribute) {
          case 63 -> putInt(out, 4);
          case 10_013 -> putInt(out, 1);
          default -> FakeGpu.INVALID_VALUE;
        });
  }

  int hipDeviceTotalMem(long out, int device) {
    return answer("hipDeviceTotalMem", () -> put(out, gpu.deviceBytes()));
  }

  int hipDeviceCanAccessPeer(long out, int device, int peer) {
    return answer("hipDeviceCanAccessPeer", () -> putInt(out, 1));
  }

  int hipDeviceEnablePeerAccess(int peer, int flags) {
    return answer(
        "hipDeviceEnablePeerAccess", () -> gpu.calls("hipDeviceEnablePeerAccess") > 1 ? PEER_ENABLED : 0);
  }

  // ------------------------------------------------------------------------------------------------ memory

  int hipPointerGetAttribute(long out, int attribute, long pointer) {
    return answer(
        "hipPointerGetAttribute",
        () -> {
          FakeGpu.Allocation a = gpu.find(pointer, 1);
          if (a == null) {
            return FakeGpu.INVALID_VALUE;
          }
          int first = major >= 6 ? 1 : 0;
          return switch (attribute) {
            case 2 -> putInt(out, a.kind() == FakeGpu.Kind.HOST ? first : first + 1);
            case 7 -> put(out, a.bufferId());
            case 8 -> putInt(out, a.kind() == FakeGpu.Kind.MANAGED ? 1 : 0);
            case 9 -> putInt(out, a.device());
            case 11 -> put(out, a.address());
            case 12 -> put(out, a.bytes());
            default -> FakeGpu.INVALID_VALUE;
          };
        });
  }

  int hipMemGetAddressRange(long base, long size, long pointer) {
    return answer(
        "hipMemGetAddressRange",
        () -> {
          FakeGpu.Allocation found = gpu.find(pointer, 1);
          if (found == null) {
            return NOT_FOUND;
          }
          put(base, found.address());
          return put(size, found.bytes());
        });
  }

  int hipMalloc(long out, long bytes) {
    return answer(
        "hipMalloc",
        () -> bytes > gpu.deviceBytes() - gpu.used(current.get())
            ? FakeGpu.OUT_OF_MEMORY
            : put(out, gpu.newAllocation(FakeGpu.Kind.PLAIN, current.get(), bytes)));
  }

  int hipFree(long address) {
    return answer("hipFree", () -> gpu.free(address));
  }

  int hipHostMalloc(long out, long bytes, int flags) {
    return answer("hipHostMalloc", () -> put(out, gpu.newAllocation(FakeGpu.Kind.HOST, 0, bytes)));
  }

  int hipHostFree(long address) {
    return answer("hipHostFree", () -> gpu.free(address));
  }

  int hipHostRegister(long address, long bytes, int flags) {
    return answer("hipHostRegister", () -> gpu.pin(address, bytes));
  }

  int hipHostUnregister(long address) {
    return answer("hipHostUnregister", () -> gpu.unpin(address));
  }

  int hipIpcGetMemHandle(long handle, long address) {
    return answer("hipIpcGetMemHandle", () -> gpu.export(address, handle));
  }

  int hipIpcOpenMemHandle(long out, MemorySegment handle, int flags) {
    return answer(
        "hipIpcOpenMemHandle",
        () -> {
          long address = gpu.open(handle);
          return address == 0 ? FakeGpu.INVALID_VALUE : put(out, address);
        });
  }

  int hipIpcCloseMemHandle(long address) {
    return answer("hipIpcCloseMemHandle", () -> gpu.close(address));
  }

  int hipIpcGetEventHandle(long handle, long event) {
    return answer("hipIpcGetEventHandle", () -> gpu.exportEvent(event, handle));
  }

  int hipIpcOpenEventHandle(long out, MemorySegment handle) {
    return answer(
        "hipIpcOpenEventHandle",
        () -> {
          long event = gpu.openEvent(handle);
          return event == 0 ? FakeGpu.INVALID_VALUE : put(out, event);
        });
  }

  /** An offset, as the real one has for memory inside an allocation. */
  int hsa_amd_portable_export_dmabuf(long address, long bytes, long fd, long offset) {
    return answer(
        "hsa_amd_portable_export_dmabuf",
        () -> {
          FakeGpu.Allocation found = gpu.find(address, bytes);
          if (found == null) {
            return 0x1001;
          }
          putInt(fd, found.fd());
          return put(offset, address - found.address());
        });
  }

  // ------------------------------------------------------------------------------------------------ streams

  int hipStreamCreateWithFlags(long out, int flags) {
    return answer("hipStreamCreateWithFlags", () -> put(out, gpu.newStream()));
  }

  int hipStreamDestroy(long stream) {
    return answer("hipStreamDestroy", () -> gpu.destroyStream(stream));
  }

  int hipStreamQuery(long stream) {
    return answer("hipStreamQuery", () -> gpu.query(stream));
  }

  int hipStreamWaitEvent(long stream, long event, int flags) {
    return answer("hipStreamWaitEvent", () -> gpu.waitEvent(stream, event));
  }

  int hipStreamWriteValue64(long stream, long address, long value, int flags) {
    return answer("hipStreamWriteValue64", () -> gpu.writeValue(stream, address, value));
  }

  int hipStreamWaitValue64(long stream, long address, long value, int flags, long mask) {
    return answer(
        "hipStreamWaitValue64",
        () -> flags != 0 || mask != -1 ? FakeGpu.INVALID_VALUE : gpu.waitValue(stream, address, value));
  }

  int hipEventCreateWithFlags(long out, int flags) {
    return answer("hipEventCreateWithFlags", () -> put(out, gpu.newEvent()));
  }

  int hipEventDestroy(long event) {
    return answer("hipEventDestroy", () -> gpu.destroyEvent(event));
  }

  int hipEventRecord(long event, long stream) {
    return answer("hipEventRecord", () -> gpu.record(event, stream));
  }

  int hipEventQuery(long event) {
    return answer("hipEventQuery", () -> gpu.queryEvent(event));
  }

  int hipEventElapsedTime(long out, long start, long end) {
    return answer(
        "hipEventElapsedTime",
        () -> {
          FakeGpu.ALL.set(JAVA_FLOAT, out, 0.5f);
          return 0;
        });
  }

  int hipMemcpyAsync(long to, long from, long bytes, int kind, long stream) {
    return answer("hipMemcpyAsync", () -> kind != 4 ? 21 : gpu.copy(from, to, bytes, stream));
  }

  int hipMemsetAsync(long address, int value, long bytes, long stream) {
    return answer(
        "hipMemsetAsync",
        () -> gpu.enqueue(
            stream,
            () -> {
              FakeGpu.ALL.asSlice(address, bytes).fill((byte) value);
              return true;
            }));
  }

  // ------------------------------------------------------------------------------------------------ kernels

  int hiprtcCreateProgram(long out, long source, long name, int headers, long headerTexts, long headerNames) {
    return answer(
        "hiprtcCreateProgram",
        () -> {
          String text = FakeGpu.ALL.asSlice(source).getString(0);
          return FakeKernels.NAMES.stream().allMatch(text::contains) ? put(out, 0x52) : 6;
        });
  }

  int hiprtcCompileProgram(long program, int count, long options) {
    return answer("hiprtcCompileProgram", () -> program == 0x52 ? 0 : 4);
  }

  int hiprtcGetProgramLogSize(long program, long out) {
    return answer("hiprtcGetProgramLogSize", () -> put(out, 16));
  }

  int hiprtcGetProgramLog(long program, long out) {
    return answer("hiprtcGetProgramLog", () -> putText(out, "kernels.cu:1:1"));
  }

  int hiprtcGetCodeSize(long program, long out) {
    return answer("hiprtcGetCodeSize", () -> put(out, CODE.length));
  }

  int hiprtcGetCode(long program, long out) {
    return answer(
        "hiprtcGetCode",
        () -> {
          MemorySegment.copy(CODE, 0, FakeGpu.ALL, JAVA_BYTE, out, CODE.length);
          return 0;
        });
  }

  int hiprtcDestroyProgram(long program) {
    return answer("hiprtcDestroyProgram", () -> FakeGpu.ALL.get(JAVA_LONG, program) == 0x52 ? 0 : 4);
  }

  int hipModuleLoadData(long out, long image) {
    return answer(
        "hipModuleLoadData",
        () -> FakeGpu.ALL.asSlice(image, CODE.length).mismatch(MemorySegment.ofArray(CODE)) == -1
            ? put(out, 0x4d)
            : INVALID_IMAGE);
  }

  int hipModuleUnload(long module) {
    return answer("hipModuleUnload", () -> 0);
  }

  int hipModuleGetFunction(long out, long module, long name) {
    return answer(
        "hipModuleGetFunction",
        () -> {
          int index = FakeKernels.NAMES.indexOf(FakeGpu.ALL.asSlice(name).getString(0));
          return index < 0 ? NOT_FOUND : put(out, 0x4600 + index);
        });
  }

  int hipModuleLaunchKernel(
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
    return answer(
        "hipModuleLaunchKernel",
        () -> {
          BooleanSupplier work = kernels.launch((int) (function - 0x4600), parameters);
          return work == null ? FakeGpu.INVALID_HANDLE : gpu.enqueue(stream, work);
        });
  }
}
