/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * Downcall handles of the CUDA driver, each below its C prototype. CUdeviceptr, handles and size_t are {@code JAVA_LONG},
 * CUdevice and enums {@code JAVA_INT}; every function returns a CUresult. Where the header maps a name to a newer version
 * ({@code #define cuMemAlloc cuMemAlloc_v2}), that is the one taken.
 *
 * <p>Source: cuda.h of CUDA 12.9 and 13.0.
 */
final class CudaBindings {
  /** CUipcMemHandle and CUipcEventHandle: 64 bytes, passed by value. */
  private static final StructLayout IPC_HANDLE =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(64, JAVA_BYTE).withName("reserved"));

  // CUresult cuInit(unsigned int Flags);
  final MethodHandle init;
  // CUresult cuDriverGetVersion(int *driverVersion);
  final MethodHandle driverGetVersion;
  // CUresult cuDeviceGetCount(int *count);
  final MethodHandle deviceGetCount;
  // CUresult cuDeviceGet(CUdevice *device, int ordinal);
  final MethodHandle deviceGet;
  // CUresult cuDeviceGetName(char *name, int len, CUdevice dev);
  final MethodHandle deviceGetName;
  // CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
  final MethodHandle deviceGetUuid;
  // CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev);
  final MethodHandle deviceGetPciBusId;
  // CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev);
  final MethodHandle deviceGetAttribute;
  // CUresult cuDeviceTotalMem(size_t *bytes, CUdevice dev);
  final MethodHandle deviceTotalMem;
  // CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev);
  final MethodHandle devicePrimaryCtxRetain;
  // CUresult cuCtxSetCurrent(CUcontext ctx);
  final MethodHandle ctxSetCurrent;
  // CUresult cuCtxGetCurrent(CUcontext *pctx);
  final MethodHandle ctxGetCurrent;
  // CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev);
  final MethodHandle deviceCanAccessPeer;
  // CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags);
  final MethodHandle ctxEnablePeerAccess;

  // CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
  //                                 CUdeviceptr ptr);
  final MethodHandle pointerGetAttributes;
  // CUresult cuMemGetAddressRange(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr);
  final MethodHandle memGetAddressRange;
  // CUresult cuMemAlloc(CUdeviceptr *dptr, size_t bytesize);
  final MethodHandle memAlloc;
  // CUresult cuMemFree(CUdeviceptr dptr);
  final MethodHandle memFree;
  // CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags);
  final MethodHandle memHostAlloc;
  // CUresult cuMemFreeHost(void *p);
  final MethodHandle memFreeHost;
  // CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags);
  final MethodHandle memHostRegister;
  // CUresult cuMemHostUnregister(void *p);
  final MethodHandle memHostUnregister;
  // CUresult cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr);
  final MethodHandle ipcGetMemHandle;
  // CUresult cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags);
  final MethodHandle ipcOpenMemHandle;
  // CUresult cuIpcCloseMemHandle(CUdeviceptr dptr);
  final MethodHandle ipcCloseMemHandle;
  // CUresult cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event);
  final MethodHandle ipcGetEventHandle;
  // CUresult cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle);
  final MethodHandle ipcOpenEventHandle;
  // CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size,
  //                                        CUmemRangeHandleType handleType, unsigned long long flags);
  final @Nullable MethodHandle memGetHandleForAddressRange; // since 11.7

  // CUresult cuStreamCreate(CUstream *phStream, unsigned int Flags);
  final MethodHandle streamCreate;
  // CUresult cuStreamDestroy(CUstream hStream);
  final MethodHandle streamDestroy;
  // CUresult cuStreamQuery(CUstream hStream);
  final MethodHandle streamQuery;
  // CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags);
  final MethodHandle streamWaitEvent;
  // CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
  final MethodHandle streamWriteValue64;
  // CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags);
  final MethodHandle streamWaitValue64;
  // CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags);
  final MethodHandle eventCreate;
  // CUresult cuEventDestroy(CUevent hEvent);
  final MethodHandle eventDestroy;
  // CUresult cuEventRecord(CUevent hEvent, CUstream hStream);
  final MethodHandle eventRecord;
  // CUresult cuEventQuery(CUevent hEvent);
  final MethodHandle eventQuery;
  // CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd);
  final MethodHandle eventElapsedTime;

  // CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream);
  final MethodHandle memcpyAsync;
  // CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
  //                            size_t ByteCount, CUstream hStream);
  final MethodHandle memcpyPeerAsync;
  // CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
  //                             CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream);
  final @Nullable MethodHandle memcpyBatchAsyncV2; // since 13.0
  // CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
  //                             CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
  //                             CUstream hStream);
  final @Nullable MethodHandle memcpyBatchAsync; // since 12.8
  // CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream);
  final MethodHandle memsetD8Async;

  // CUresult cuModuleLoadData(CUmodule *module, const void *image);
  final MethodHandle moduleLoadData;
  // CUresult cuModuleUnload(CUmodule hmod);
  final MethodHandle moduleUnload;
  // CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name);
  final MethodHandle moduleGetFunction;
  // CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
  //                         unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
  //                         unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra);
  final MethodHandle launchKernel;

  private final NativeLibrary library;

  /**
   * Makes all handles.
   *
   * @throws dev.hawser.memory.ffi.MissingNativeException if the library lacks a symbol that is needed
   */
  CudaBindings(NativeLibrary library) {
    this.library = library;
    init = bind("cuInit", JAVA_INT);
    driverGetVersion = bind("cuDriverGetVersion", JAVA_LONG);
    deviceGetCount = bind("cuDeviceGetCount", JAVA_LONG);
    deviceGet = bind("cuDeviceGet", JAVA_LONG, JAVA_INT);
    deviceGetName = bind("cuDeviceGetName", JAVA_LONG, JAVA_INT, JAVA_INT);
    deviceGetUuid = bind("cuDeviceGetUuid_v2", JAVA_LONG, JAVA_INT);
    deviceGetPciBusId = bind("cuDeviceGetPCIBusId", JAVA_LONG, JAVA_INT, JAVA_INT);
    deviceGetAttribute = bind("cuDeviceGetAttribute", JAVA_LONG, JAVA_INT, JAVA_INT);
    deviceTotalMem = bind("cuDeviceTotalMem_v2", JAVA_LONG, JAVA_INT);
    devicePrimaryCtxRetain = bind("cuDevicePrimaryCtxRetain", JAVA_LONG, JAVA_INT);
    ctxSetCurrent = bind("cuCtxSetCurrent", JAVA_LONG);
    ctxGetCurrent = bind("cuCtxGetCurrent", JAVA_LONG);
    deviceCanAccessPeer = bind("cuDeviceCanAccessPeer", JAVA_LONG, JAVA_INT, JAVA_INT);
    ctxEnablePeerAccess = bind("cuCtxEnablePeerAccess", JAVA_LONG, JAVA_INT);

    pointerGetAttributes = bind("cuPointerGetAttributes", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    memGetAddressRange = bind("cuMemGetAddressRange_v2", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    memAlloc = bind("cuMemAlloc_v2", JAVA_LONG, JAVA_LONG);
    memFree = bind("cuMemFree_v2", JAVA_LONG);
    memHostAlloc = bind("cuMemHostAlloc", JAVA_LONG, JAVA_LONG, JAVA_INT);
    memFreeHost = bind("cuMemFreeHost", JAVA_LONG);
    memHostRegister = bind("cuMemHostRegister_v2", JAVA_LONG, JAVA_LONG, JAVA_INT);
    memHostUnregister = bind("cuMemHostUnregister", JAVA_LONG);
    ipcGetMemHandle = bind("cuIpcGetMemHandle", JAVA_LONG, JAVA_LONG);
    ipcOpenMemHandle = bind("cuIpcOpenMemHandle_v2", JAVA_LONG, IPC_HANDLE, JAVA_INT);
    ipcCloseMemHandle = bind("cuIpcCloseMemHandle", JAVA_LONG);
    ipcGetEventHandle = bind("cuIpcGetEventHandle", JAVA_LONG, JAVA_LONG);
    ipcOpenEventHandle = bind("cuIpcOpenEventHandle", JAVA_LONG, IPC_HANDLE);
    memGetHandleForAddressRange =
        bindIfThere("cuMemGetHandleForAddressRange", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG);

    streamCreate = bind("cuStreamCreate", JAVA_LONG, JAVA_INT);
    streamDestroy = bind("cuStreamDestroy_v2", JAVA_LONG);
    streamQuery = bind("cuStreamQuery", JAVA_LONG);
    streamWaitEvent = bind("cuStreamWaitEvent", JAVA_LONG, JAVA_LONG, JAVA_INT);
    streamWriteValue64 =
        bindFirst("cuStreamWriteValue64_v2", "cuStreamWriteValue64", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    streamWaitValue64 =
        bindFirst("cuStreamWaitValue64_v2", "cuStreamWaitValue64", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT);
    eventCreate = bind("cuEventCreate", JAVA_LONG, JAVA_INT);
    eventDestroy = bind("cuEventDestroy_v2", JAVA_LONG);
    eventRecord = bind("cuEventRecord", JAVA_LONG, JAVA_LONG);
    eventQuery = bind("cuEventQuery", JAVA_LONG);
    eventElapsedTime = bindFirst("cuEventElapsedTime_v2", "cuEventElapsedTime", JAVA_LONG, JAVA_LONG, JAVA_LONG);

    memcpyAsync = bind("cuMemcpyAsync", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    memcpyPeerAsync =
        bind("cuMemcpyPeerAsync", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    memcpyBatchAsyncV2 =
        bindIfThere(
            "cuMemcpyBatchAsync_v2",
            JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    memcpyBatchAsync =
        bindIfThere(
            "cuMemcpyBatchAsync",
            JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    memsetD8Async = bind("cuMemsetD8Async", JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG);

    moduleLoadData = bind("cuModuleLoadData", JAVA_LONG, JAVA_LONG);
    moduleUnload = bind("cuModuleUnload", JAVA_LONG);
    moduleGetFunction = bind("cuModuleGetFunction", JAVA_LONG, JAVA_LONG, JAVA_LONG);
    launchKernel =
        bind(
            "cuLaunchKernel",
            JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG,
            JAVA_LONG);
  }

  private MethodHandle bind(String symbol, MemoryLayout... arguments) {
    return library.function(symbol, FunctionDescriptor.of(JAVA_INT, arguments));
  }

  private @Nullable MethodHandle bindIfThere(String symbol, MemoryLayout... arguments) {
    return library.find(symbol).isPresent() ? bind(symbol, arguments) : null;
  }

  private MethodHandle bindFirst(String symbol, String older, MemoryLayout... arguments) {
    return bind(library.find(symbol).isPresent() ? symbol : older, arguments);
  }

  int pointerGetAttributes(int count, long attributes, long data, long pointer) {
    try {
      return (int) pointerGetAttributes.invokeExact(count, attributes, data, pointer);
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

  static int memGetHandleForAddressRange(
      MethodHandle function, long out, long address, long bytes, int type, long flags) {
    try {
      return (int) function.invokeExact(out, address, bytes, type, flags);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int memsetD8Async(long address, byte value, long bytes, long stream) {
    try {
      return (int) memsetD8Async.invokeExact(address, value, bytes, stream);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  static int memcpyBatchAsyncV2(
      MethodHandle function, long tos, long froms, long sizes, long count, long attributes, long indices, long stream) {
    try {
      return (int) function.invokeExact(tos, froms, sizes, count, attributes, indices, 1L, stream);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  static int memcpyBatchAsync(
      MethodHandle function,
      long tos,
      long froms,
      long sizes,
      long count,
      long attributes,
      long indices,
      long failed,
      long stream) {
    try {
      return (int) function.invokeExact(tos, froms, sizes, count, attributes, indices, 1L, failed, stream);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int memcpyPeerAsync(long to, long toContext, long from, long fromContext, long bytes, long stream) {
    try {
      return (int) memcpyPeerAsync.invokeExact(to, toContext, from, fromContext, bytes, stream);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  int launchKernel(long function, int blocks, int threads, long stream, long parameters) {
    try {
      return (int) launchKernel.invokeExact(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0L);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

}
