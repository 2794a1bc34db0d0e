/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks every name and number of dev.hawser.memory.cuda against NVIDIA's header: it compiles, or the binding is wrong.
 * Run by GpuHeadersTest.
 */
#include <cuda.h>
#include <stddef.h>

#define TEXT(x) #x
#define NUMBER(constant, value) _Static_assert((constant) == (value), #constant " is another number")
#define SAME(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

/* names that the header maps to newer versions; the others are exported as they are written */
#define X(s) TEXT(s)
_Static_assert(__builtin_strcmp(X(cuDeviceTotalMem), "cuDeviceTotalMem_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuMemAlloc), "cuMemAlloc_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuMemFree), "cuMemFree_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuMemGetAddressRange), "cuMemGetAddressRange_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuMemHostRegister), "cuMemHostRegister_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuIpcOpenMemHandle), "cuIpcOpenMemHandle_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuStreamDestroy), "cuStreamDestroy_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuEventDestroy), "cuEventDestroy_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuStreamWriteValue64), "cuStreamWriteValue64_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuStreamWaitValue64), "cuStreamWaitValue64_v2") == 0, "");
#if CUDA_VERSION >= 13000
_Static_assert(__builtin_strcmp(X(cuDeviceGetUuid), "cuDeviceGetUuid_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuEventElapsedTime), "cuEventElapsedTime_v2") == 0, "");
_Static_assert(__builtin_strcmp(X(cuMemcpyBatchAsync), "cuMemcpyBatchAsync_v2") == 0, "");
#endif

/* what is taken for 64 bits, and for 32 */
SAME(CUdeviceptr, 8);
SAME(CUcontext, 8);
SAME(CUstream, 8);
SAME(CUevent, 8);
SAME(CUmodule, 8);
SAME(CUfunction, 8);
SAME(size_t, 8);
SAME(CUdevice, 4);
SAME(CUresult, 4);
SAME(CUpointer_attribute, 4);
SAME(CUmemorytype, 4);
SAME(CUipcMemHandle, 64);
SAME(CUipcEventHandle, 64);
SAME(CUuuid, 16);
SAME(CUmemcpyAttributes, 24);
_Static_assert(offsetof(CUmemcpyAttributes, srcAccessOrder) == 0, "");

NUMBER(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16);
NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75);
NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76);
NUMBER(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 93);
NUMBER(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 122);
NUMBER(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 124);
NUMBER(CU_POINTER_ATTRIBUTE_CONTEXT, 1);
NUMBER(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2);
NUMBER(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7);
NUMBER(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8);
NUMBER(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9);
NUMBER(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 10);
NUMBER(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11);
NUMBER(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12);
NUMBER(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 14);
NUMBER(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 17);
NUMBER(CU_MEMORYTYPE_HOST, 1);
NUMBER(CU_MEMORYTYPE_DEVICE, 2);
NUMBER(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1);
NUMBER(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, 3);
NUMBER(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP, 3);
NUMBER(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, 1);
NUMBER(CU_STREAM_NON_BLOCKING, 1);
NUMBER(CU_EVENT_DISABLE_TIMING, 2);
NUMBER(CU_EVENT_INTERPROCESS, 4);
NUMBER(CU_STREAM_WAIT_VALUE_GEQ, 0);
NUMBER(CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 1);
NUMBER(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 1);
NUMBER(CUDA_ERROR_NOT_READY, 600);
NUMBER(CUDA_ERROR_ILLEGAL_ADDRESS, 700);
NUMBER(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704);
NUMBER(CUDA_ERROR_NOT_SUPPORTED, 801);

/* prototypes, by assignment */
CUresult (*const alloc)(CUdeviceptr *, size_t) = cuMemAlloc;
CUresult (*const attributes)(unsigned int, CUpointer_attribute *, void **, CUdeviceptr) = cuPointerGetAttributes;
CUresult (*const range)(CUdeviceptr *, size_t *, CUdeviceptr) = cuMemGetAddressRange;
CUresult (*const openMemory)(CUdeviceptr *, CUipcMemHandle, unsigned int) = cuIpcOpenMemHandle;
CUresult (*const openEvent)(CUevent *, CUipcEventHandle) = cuIpcOpenEventHandle;
CUresult (*const dmaBuf)(void *, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long) =
    cuMemGetHandleForAddressRange;
CUresult (*const writeValue)(CUstream, CUdeviceptr, cuuint64_t, unsigned int) = cuStreamWriteValue64;
CUresult (*const waitValue)(CUstream, CUdeviceptr, cuuint64_t, unsigned int) = cuStreamWaitValue64;
CUresult (*const copy)(CUdeviceptr, CUdeviceptr, size_t, CUstream) = cuMemcpyAsync;
CUresult (*const peer)(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream) = cuMemcpyPeerAsync;
CUresult (*const fill)(CUdeviceptr, unsigned char, size_t, CUstream) = cuMemsetD8Async;
CUresult (*const launch)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                         unsigned int, CUstream, void **, void **) = cuLaunchKernel;
#if CUDA_VERSION >= 13000
CUresult (*const batch)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t,
                        CUstream) = cuMemcpyBatchAsync;
#else
CUresult (*const batch)(CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, size_t *,
                        CUstream) = cuMemcpyBatchAsync;
#endif
