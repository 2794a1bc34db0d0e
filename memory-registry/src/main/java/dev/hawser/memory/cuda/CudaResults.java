/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.cuda;

import dev.hawser.memory.gpu.ResultNames;

/**
 * The results of the CUDA driver: names, and what to do about those that people meet.
 *
 * <p>Source: CUresult in cuda.h of CUDA 13.0.
 */
final class CudaResults {
  static final int SUCCESS = 0;
  static final int NOT_READY = 600;
  static final int PEER_ACCESS_ALREADY_ENABLED = 704;

  // The table stands at the end, for it is long.
  private static final ResultNames NAMES = new ResultNames("CUDA_ERROR_", "CUDA result", CudaResults.TEXT);

  private CudaResults() {}

  /** The name of a result, for example {@code CUDA_ERROR_OUT_OF_MEMORY}. */
  static String name(int result) {
    return NAMES.of(result);
  }

  /** Whether the context, and with it the device, is lost to this process. */
  static boolean sticky(int result) {
    return switch (result) {
      case 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721 -> true;
      default -> false;
    };
  }

  /** What it means and what to do: a clause. */
  static String advice(int result) {
    return switch (result) {
      case 1 -> "an argument is out of range, or the memory was freed; check the address and the length";
      case 2 -> "the memory of the device is full; free some, or let the framework take less (gpu_memory_utilization)";
      case 3 -> "the driver is not started; this is a mistake in Hawser";
      case 4 -> "the driver is shutting down with the process";
      case 34 -> "this is the stub library of the CUDA toolkit; take its folder off LD_LIBRARY_PATH";
      case 46, 802 -> "the device is busy or not ready; see nvidia-smi, and the fabric manager on NVSwitch machines";
      case 100 -> "the driver sees no GPU; see nvidia-smi, CUDA_VISIBLE_DEVICES, and the container's --gpus";
      case 101 -> "there is no device of that number; they are counted from 0 behind CUDA_VISIBLE_DEVICES";
      case 201 -> "the context is gone, or a memory handle was opened by the process that exported it";
      case 205, 304 -> "the operating system refused; are both processes of one user and one IPC and pid namespace?";
      case 214 -> "memory of the GPU is damaged; restart the process, and have the GPU reset or replaced";
      case 218, 222 -> "the driver cannot compile the kernels; install a driver of CUDA 11.4 or newer";
      case 217 -> "the two GPUs cannot address each other; see nvidia-smi topo -p2p r";
      case 221 -> "libnvidia-ptxjitcompiler is missing; install it, or add the container capability compute";
      case 226, 700, 715, 716, 717, 718, 719 ->
        "a kernel of this process touched memory that it may not, and the driver ended the context: every later call on this"
            + " device fails like this; restart the process, and look for the first error (CUDA_LAUNCH_BLOCKING=1,"
            + " compute-sanitizer)";
      case 702 -> "a kernel ran too long and the driver ended the context; restart the process";
      case 710 -> "a kernel's assertion failed and the driver ended the context; restart the process";
      case 400 -> "a stream, event or module was closed or belongs to another context";
      case 709 -> "the context was destroyed, by cudaDeviceReset for example; restart the process";
      case 712 -> "the memory, or a part of it, is pinned already; unpin it, or pin it once";
      case 713 -> "the memory is not pinned";
      case 800 -> "the operation is not permitted here";
      case 801 -> "the device or its driver cannot do this";
      case 803 -> "kernel module and library are of different versions; reboot, or reload the module";
      case 804 -> "the compatibility package does not support this GPU; remove cuda-compat";
      case 805, 806, 807, 808, 809, 810 -> "the MPS server failed; see its log";
      case 900, 901, 906, 908 -> "a stream of this process is being captured into a graph; do not transfer meanwhile";
      case 999 -> "the driver failed without a reason; see dmesg for Xid";
      default -> "see CUresult in the CUDA driver API";
    };
  }

  private static final String TEXT =
      """
          1 INVALID_VALUE
          2 OUT_OF_MEMORY
          3 NOT_INITIALIZED
          4 DEINITIALIZED
          5 PROFILER_DISABLED
          6 PROFILER_NOT_INITIALIZED
          7 PROFILER_ALREADY_STARTED
          8 PROFILER_ALREADY_STOPPED
          34 STUB_LIBRARY
          36 CALL_REQUIRES_NEWER_DRIVER
          46 DEVICE_UNAVAILABLE
          100 NO_DEVICE
          101 INVALID_DEVICE
          102 DEVICE_NOT_LICENSED
          200 INVALID_IMAGE
          201 INVALID_CONTEXT
          202 CONTEXT_ALREADY_CURRENT
          205 MAP_FAILED
          206 UNMAP_FAILED
          207 ARRAY_IS_MAPPED
          208 ALREADY_MAPPED
          209 NO_BINARY_FOR_GPU
          210 ALREADY_ACQUIRED
          211 NOT_MAPPED
          212 NOT_MAPPED_AS_ARRAY
          213 NOT_MAPPED_AS_POINTER
          214 ECC_UNCORRECTABLE
          215 UNSUPPORTED_LIMIT
          216 CONTEXT_ALREADY_IN_USE
          217 PEER_ACCESS_UNSUPPORTED
          218 INVALID_PTX
          219 INVALID_GRAPHICS_CONTEXT
          220 NVLINK_UNCORRECTABLE
          221 JIT_COMPILER_NOT_FOUND
          222 UNSUPPORTED_PTX_VERSION
          223 JIT_COMPILATION_DISABLED
          224 UNSUPPORTED_EXEC_AFFINITY
          225 UNSUPPORTED_DEVSIDE_SYNC
          226 CONTAINED
          300 INVALID_SOURCE
          301 FILE_NOT_FOUND
          302 SHARED_OBJECT_SYMBOL_NOT_FOUND
          303 SHARED_OBJECT_INIT_FAILED
          304 OPERATING_SYSTEM
          400 INVALID_HANDLE
          401 ILLEGAL_STATE
          402 LOSSY_QUERY
          500 NOT_FOUND
          600 NOT_READY
          700 ILLEGAL_ADDRESS
          701 LAUNCH_OUT_OF_RESOURCES
          702 LAUNCH_TIMEOUT
          703 LAUNCH_INCOMPATIBLE_TEXTURING
          704 PEER_ACCESS_ALREADY_ENABLED
          705 PEER_ACCESS_NOT_ENABLED
          708 PRIMARY_CONTEXT_ACTIVE
          709 CONTEXT_IS_DESTROYED
          710 ASSERT
          711 TOO_MANY_PEERS
          712 HOST_MEMORY_ALREADY_REGISTERED
          713 HOST_MEMORY_NOT_REGISTERED
          714 HARDWARE_STACK_ERROR
          715 ILLEGAL_INSTRUCTION
          716 MISALIGNED_ADDRESS
          717 INVALID_ADDRESS_SPACE
          718 INVALID_PC
          719 LAUNCH_FAILED
          720 COOPERATIVE_LAUNCH_TOO_LARGE
          721 TENSOR_MEMORY_LEAK
          800 NOT_PERMITTED
          801 NOT_SUPPORTED
          802 SYSTEM_NOT_READY
          803 SYSTEM_DRIVER_MISMATCH
          804 COMPAT_NOT_SUPPORTED_ON_DEVICE
          805 MPS_CONNECTION_FAILED
          806 MPS_RPC_FAILURE
          807 MPS_SERVER_NOT_READY
          808 MPS_MAX_CLIENTS_REACHED
          809 MPS_MAX_CONNECTIONS_REACHED
          810 MPS_CLIENT_TERMINATED
          811 CDP_NOT_SUPPORTED
          812 CDP_VERSION_MISMATCH
          900 STREAM_CAPTURE_UNSUPPORTED
          901 STREAM_CAPTURE_INVALIDATED
          902 STREAM_CAPTURE_MERGE
          903 STREAM_CAPTURE_UNMATCHED
          904 STREAM_CAPTURE_UNJOINED
          905 STREAM_CAPTURE_ISOLATION
          906 STREAM_CAPTURE_IMPLICIT
          907 CAPTURED_EVENT
          908 STREAM_CAPTURE_WRONG_THREAD
          909 TIMEOUT
          910 GRAPH_EXEC_UPDATE_FAILURE
          911 EXTERNAL_DEVICE
          912 INVALID_CLUSTER_SIZE
          913 FUNCTION_NOT_LOADED
          914 INVALID_RESOURCE_TYPE
          915 INVALID_RESOURCE_CONFIGURATION
          916 KEY_ROTATION
          999 UNKNOWN
          """;
}
