/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;

/**
 * Downcall handles of the HIP runtime, each below its C prototype. Pointers, handles and size_t are {@code JAVA_LONG},
 * enums {@code JAVA_INT}; every function returns a hipError_t.
 *
 * <p>Source: hip_runtime_api.h of HIP 5.2 (Debian) and of 6.
 */
final class HipBindings {
  /** hipIpcMemHandle_t and hipIpcEventHandle_t: 64 bytes, passed by value. */
  private static final StructLayout IPC_HANDLE =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(64, JAVA_BYTE).withName("reserved"));

  // hipError_t hipInit(unsigned int flags);
  final MethodHandle init;
  // hipError_t hipRuntimeGetVersion(int* runtimeVersion);
  final MethodHandle runtimeGetVersion;
  // hipError_t hipGetDeviceCount(int* count);
  final MethodHandle getDeviceCount;
  // hipError_t hipSetDevice(int deviceId);
  final MethodHandle setDevice;
  // hipError_t hipGetDevice(int* deviceId);
  final MethodHandle getDevice;
  // hipError_t hipGetLastError(void);
  final MethodHandle getLastError;
  // hipError_t hipDeviceGetName(char* name, int len, hipDevice_t device);
  final MethodHandle deviceGetName;
  // hipError_t hipDeviceGetPCIBusId(char* pciBusId, int len, int device);
  final MethodHandle deviceGetPciBusId;
  // hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device);
  final MethodHandle deviceGetUuid;
  // hipError_t hipDeviceGetAttribute(int* pi, hipDeviceAttribute_t attr, int deviceId);
  final MethodHandle deviceGetAttribute;
  // hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device);
  final MethodHandle deviceTotalMem;
  // hipError_t hipDeviceCanAccessPeer(int* canAccessPeer, int deviceId, int peerDeviceId);
  final MethodHandle deviceCanAccessPeer;
  // hipError_t hipDeviceEnablePeerAccess(int peerDeviceId, unsigned int flags);
  final MethodHandle deviceEnablePeerAccess;

  // hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute, hipDeviceptr_t ptr);
  final MethodHandle pointerGetAttribute;
  // hipError_t hipMemGetAddressRange(hipDeviceptr_t* pbase, size_t* psize, hipDeviceptr_t dptr);
  final MethodHandle memGetAddressRange;
  // hipError_t hipMalloc(void** ptr, size_t size);
  final MethodHandle malloc;
  // hipError_t hipFree(void* ptr);
  final MethodHandle free;
  // hipError_t hipHostMalloc(void** ptr, size_t size, unsigned int flags);
  final MethodHandle hostMalloc;
  // hipError_t hipHostFree(void* ptr);
  final MethodHandle hostFree;
  // hipError_t hipHostRegister(void* hostPtr, size_t sizeBytes, unsigned int flags);
  final MethodHandle hostRegister;
  // hipError_t hipHostUnregister(void* hostPtr);
  final MethodHandle hostUnregister;
  // hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* devPtr);
  final MethodHandle ipcGetMemHandle;
  // hipError_t hipIpcOpenMemHandle(void** devPtr, hipIpcMemHandle_t handle, unsigned int flags);
  final MethodHandle ipcOpenMemHandle;
  // hipError_t hipIpcCloseMemHandle(void* devPtr);
  final MethodHandle ipcCloseMemHandle;
  // hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t* handle, hipEvent_t event);
  final MethodHandle ipcGetEventHandle;
  // hipError_t hipIpcOpenEventHandle(hipEvent_t* event, hipIpcEventHandle_t handle);
  final MethodHandle ipcOpenEventHandle;

  // hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags);
  final MethodHandle streamCreateWithFlags;
  // hipError_t hipStreamDestroy(hipStream_t stream);
  final MethodHandle streamDestroy;
  // hipError_t hipStreamQuery(hipStream_t stream);
  final MethodHandle streamQuery;
  // hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags);
  final MethodHandle streamWaitEvent;
  // hipError_t hipStreamWriteValue64(hipStream_t stream, void* ptr, uint64_t value, unsigned int flags);
  final MethodHandle streamWriteValue64;
  // hipError_t hipStreamWaitValue64(hipStream_t stream, void* ptr, uint64_t value, unsigned int flags, uint64_t mask);
  final MethodHandle streamWaitValue64;
  // hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
  final MethodHandle eventCreateWithFlags;
  // hipError_t hipEventDestroy(hipEvent_t event);
  final MethodHandle eventDestroy;
  // hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
  final MethodHandle eventRecord;
  // hipError_t hipEventQuery(hipEvent_t event);
  final MethodHandle eventQuery;
  // hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop);
  final MethodHandle eventElapsedTime;
  // hipError_t hipMemcpyAsync(void* dst, const void* src, size_t sizeBytes, hipMemcpyKind kind, hipStream_t stream);
  final MethodHandle memcpyAsync;
  // hipError_t hipMemsetAsync(void* dst, int value, size_t sizeBytes, hipStream_t stream);
  final MethodHandle memsetAsync;

  // hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
  final MethodHandle moduleLoadData;
  // hipError_t hipModuleUnload(hipModule_t module);
  final MethodHandle moduleUnload;
  // hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* kname);
  final MethodHandle moduleGetFunction;
  // hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned int gridDimX, unsigned int gridDimY,
  //                                  unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
  //                                  unsigned int blockDimZ, unsigned int sharedMemBytes, hipStream_t stream,
  //                                  void** kernelParams, void** extra);
  final MethodHandle moduleLaunchKernel;

  private final NativeLibrary library;

  /**
   * Makes all handles.
   *
   * @throws dev.hawser.memory.ffi.MissingNativeException if the library lacks a symbol
   */
  HipBindings(NativeLibrary library) {
    this.library = library;
    init = bind("hipInit", JAVA_INT);
    runtimeGetVersion = bind("hipRuntimeGetVersion", JAVA_LONG);
    getDeviceCount = bind("hipGetDeviceCount", JAVA_LONG);
    setDevice = bind("hipSetDevice", JAVA_INT);
    getDevice = bind("hipGetDevice", JAVA_LONG);
    getLastError = bind("hipGetLastError");
    deviceGetName = bind("hipDeviceGetName", JAVA_LONG, JAVA_INT, JAVA_INT);
    deviceGetPciBusId = bind("hipDeviceGetPCIBusId", JAVA_LONG, JAVA_INT, JAVA_INT);
    deviceGetUuid = bind("hipDeviceGetUuid", JAVA_LONG, JAVA_INT);
    deviceGetAttribute = bind("hipDeviceGetAttribute", JAVA_LONG, JAVA_INT, JAVA_INT);
    deviceTotalMem = bind("hipDeviceTotalMem", JAVA_LONG, JAVA_INT);
    deviceCanAccessPeer = bind("hipDeviceCanAccessPeer", JAVA_LONG, JAVA_INT, JAVA_INT);
    deviceEnablePeerAccess = bind("hipDeviceEnablePeerAccess", JAVA_INT, JAVA_INT);

    pointerGetAttribute = bind("hipPointerGetAttribute", JAVA_LONG, JAVA_INT, JAVA_LONG);
    memGetAddressRange = bind("hipMemGetAddressRange", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    malloc = bind("hipMalloc", JAVA_LONG, JAVA_LONG);
    free = bind("hipFree", JAVA_LONG);
    hostMalloc = bind("hipHostMalloc", JAVA_LONG, JAVA_LONG, JAVA_INT);
    hostFree = bind("hipHostFree", JAVA_LONG);
    hostRegister = bind("hipHostRegister", JAVA_LONG, JAVA_LONG, JAVA_INT);
    hostUnregister = bind("hipHostUnregister", JAVA_LONG);
    ipcGetMemHandle = bind("hipIpcGetMemHandle", JAVA_LONG, JAVA_LONG);
    ipcOpenMemHandle = bind("hipIpcOpenMemHandle", JAVA_LONG, IPC_HANDLE, JAVA_INT);
    ipcCloseMemHandle = bind("hipIpcCloseMemHandle", JAVA_LONG);
    ipcGetEventHandle = bind("hipIpcGetEventHandle", JAVA_LONG, JAVA_LONG);
    ipcOpenEventHandle = bind("hipIpcOpenEventHandle", JAVA_LONG, IPC_HANDLE);

    streamCreateWithFlags = bind("hipStreamCreateWithFlags", JAVA_LONG, JAVA_INT);
    streamDestroy = bind("hipStreamDestroy", JAVA_LONG);
    streamQuery = bind("hipStreamQuery", JAVA_LONG);
    streamWaitEvent = bind("hipStreamWaitEvent", JAVA_LONG, JAVA_LONG, JAVA_INT);
    streamWriteValue64 = bind("hipStreamWriteValue64", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    streamWaitValue64 = bind("hipStreamWaitValue64", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    eventCreateWithFlags = bind("hipEventCreateWithFlags", JAVA_LONG, JAVA_INT);
    eventDestroy = bind("hipEventDestroy", JAVA_LONG);
    eventRecord = bind("hipEventRecord", JAVA_LONG, JAVA_LONG);
    eventQuery = bind("hipEventQuery", JAVA_LONG);
    eventElapsedTime = bind("hipEventElapsedTime", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    memcpyAsync = bind("hipMemcpyAsync", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);
    memsetAsync = bind("hipMemsetAsync", JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG);

    moduleLoadData = bind("hipModuleLoadData", JAVA_LONG, JAVA_LONG);
    moduleUnload = bind("hipModuleUnload", JAVA_LONG);
    moduleGetFunction = bind("hipModuleGetFunction", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    moduleLaunchKernel =
        bind(
            "hipModuleLaunchKernel",
            JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG,
            JAVA_LONG);
  }

  private MethodHandle bind(String symbol, MemoryLayout... arguments) {
    return library.function(symbol, FunctionDescriptor.of(JAVA_INT, arguments));
  }

  // The shapes that dev.hawser.memory.ffi.Calls has not.

  int getLastError() {
    try {
      return (int) getLastError.invokeExact();
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int enablePeerAccess(int peer, int flags) {
    try {
      return (int) deviceEnablePeerAccess.invokeExact(peer, flags);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int pointerGetAttribute(long out, int attribute, long pointer) {
    try {
      return (int) pointerGetAttribute.invokeExact(out, attribute, pointer);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int ipcOpenMemHandle(long out, MemorySegment handle, int flags) {
    try {
      return (int) ipcOpenMemHandle.invokeExact(out, handle, flags);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int ipcOpenEventHandle(long out, MemorySegment handle) {
    try {
      return (int) ipcOpenEventHandle.invokeExact(out, handle);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int streamWaitValue64(long stream, long address, long value, int flags, long mask) {
    try {
      return (int) streamWaitValue64.invokeExact(stream, address, value, flags, mask);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int memcpyAsync(long to, long from, long bytes, int kind, long stream) {
    try {
      return (int) memcpyAsync.invokeExact(to, from, bytes, kind, stream);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int memsetAsync(long address, int value, long bytes, long stream) {
    try {
      return (int) memsetAsync.invokeExact(address, value, bytes, stream);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int moduleLaunchKernel(long function, int blocks, int threads, long stream, long parameters) {
    try {
      return (int) moduleLaunchKernel.invokeExact(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0L);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }
}
