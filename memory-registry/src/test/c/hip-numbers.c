/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks the numbers of dev.hawser.memory.hip against AMD's header: it compiles, or the binding is wrong. Run by GpuHeadersTest.
 */
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

#define NUMBER(constant, value) _Static_assert((constant) == (value), #constant " is another number")
#define SAME(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

SAME(hipDeviceptr_t, 8);
SAME(hipStream_t, 8);
SAME(hipEvent_t, 8);
SAME(hipModule_t, 8);
SAME(hipFunction_t, 8);
SAME(hipDevice_t, 4);
SAME(hipError_t, 4);
SAME(hipIpcMemHandle_t, 64);
SAME(hipIpcEventHandle_t, 64);
SAME(hipUUID, 16);

NUMBER(hipDeviceAttributeMultiprocessorCount, 63);
NUMBER(hipDeviceAttributeCanUseStreamWaitValue, 10013);
NUMBER(HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, 2);
NUMBER(HIP_POINTER_ATTRIBUTE_BUFFER_ID, 7);
NUMBER(HIP_POINTER_ATTRIBUTE_IS_MANAGED, 8);
NUMBER(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9);
NUMBER(HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11);
NUMBER(HIP_POINTER_ATTRIBUTE_RANGE_SIZE, 12);
NUMBER(hipMemoryTypeDevice, hipMemoryTypeHost + 1);
NUMBER(hipMemoryTypeHost, HIP_VERSION_MAJOR >= 6 ? 1 : 0);
NUMBER(hipHostMallocPortable | hipHostMallocMapped, 3);
NUMBER(hipHostRegisterPortable | hipHostRegisterMapped, 3);
NUMBER(hipStreamNonBlocking, 1);
NUMBER(hipEventDisableTiming, 2);
NUMBER(hipEventInterprocess, 4);
NUMBER(hipStreamWaitValueGte, 0);
NUMBER(hipMemcpyDefault, 4);
NUMBER(hipErrorInvalidValue, 1);
NUMBER(hipErrorNotReady, 600);
NUMBER(hipErrorPeerAccessAlreadyEnabled, 704);
NUMBER(hipErrorNotSupported, 801);

hipError_t (*const allocate)(void **, size_t) = hipMalloc;
hipError_t (*const attribute)(void *, hipPointer_attribute, hipDeviceptr_t) = hipPointerGetAttribute;
hipError_t (*const openMemory)(void **, hipIpcMemHandle_t, unsigned int) = hipIpcOpenMemHandle;
hipError_t (*const copy)(void *, const void *, size_t, hipMemcpyKind, hipStream_t) = hipMemcpyAsync;
hipError_t (*const fill)(void *, int, size_t, hipStream_t) = hipMemsetAsync;
hipError_t (*const writeValue)(hipStream_t, void *, uint64_t, unsigned int) = hipStreamWriteValue64;
hipError_t (*const waitValue)(hipStream_t, void *, uint64_t, unsigned int, uint64_t) = hipStreamWaitValue64;
