/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import dev.hawser.memory.gpu.ResultNames;

/**
 * The results of HIP: names, and what to do about those that people meet.
 *
 * <p>Source: hipError_t in hip_runtime_api.h of HIP 5.2.
 */
final class HipResults {
  static final int SUCCESS = 0;
  static final int INVALID_VALUE = 1;
  static final int NOT_READY = 600;
  static final int PEER_ACCESS_ALREADY_ENABLED = 704;
  static final int NOT_SUPPORTED = 801;

  // The table stands at the end, for it is long.
  private static final ResultNames NAMES = new ResultNames("hipError", "HIP result", HipResults.TEXT);

  private HipResults() {}

  /** The name of a result, for example {@code hipErrorOutOfMemory}. */
  static String name(int result) {
    return NAMES.of(result);
  }

  /** Whether the device is lost to this process. */
  static boolean sticky(int result) {
    return switch (result) {
      case 214, 700, 702, 709, 710, 719 -> true;
      default -> false;
    };
  }

  /** What it means and what to do: a clause. */
  static String advice(int result) {
    return switch (result) {
      case 1 -> "an argument is out of range, or the memory was freed; check the address and the length";
      case 2 -> "the memory of the device is full; free some, or let the framework take less";
      case 35 -> "the kernel driver is too old for this library; install a newer amdgpu";
      case 98, 200, 209 -> "the kernels do not fit this GPU; is its architecture known to the installed ROCm?";
      case 100, 101 ->
        "there is no such AMD GPU; see rocminfo, HIP_VISIBLE_DEVICES, and the rights to /dev/kfd and /dev/dri";
      case 201 -> "the context is gone, or a memory handle was opened by the process that exported it";
      case 205 -> "the memory cannot be mapped; are both processes of one user and one IPC and pid namespace?";
      case 214 -> "memory of the GPU is damaged; restart the process, and have the GPU reset or replaced";
      case 217 -> "the two GPUs cannot address each other; see rocm-smi --showtopo";
      case 400 -> "a stream, event or module was closed or belongs to another device";
      case 700, 719 ->
        "a kernel of this process touched memory that it may not; every later call on this device fails like this:"
            + " restart the process, and look for the first error (AMD_SERIALIZE_KERNEL=3)";
      case 702 -> "a kernel ran too long; restart the process";
      case 709, 710 -> "the device is lost to this process; restart it";
      case 712 -> "the memory, or a part of it, is pinned already; unpin it, or pin it once";
      case 713 -> "the memory is not pinned";
      case 801 -> "the device or the installed ROCm cannot do this";
      case 900, 901, 906, 908 -> "a stream of this process is being captured into a graph; do not transfer meanwhile";
      case 999 -> "the driver failed without a reason; see dmesg for amdgpu";
      default -> "see hipError_t in the HIP runtime API";
    };
  }

  private static final String TEXT =
      """
          1 InvalidValue
          2 OutOfMemory
          3 NotInitialized
          4 Deinitialized
          5 ProfilerDisabled
          6 ProfilerNotInitialized
          7 ProfilerAlreadyStarted
          8 ProfilerAlreadyStopped
          9 InvalidConfiguration
          12 InvalidPitchValue
          13 InvalidSymbol
          17 InvalidDevicePointer
          21 InvalidMemcpyDirection
          35 InsufficientDriver
          52 MissingConfiguration
          53 PriorLaunchFailure
          98 InvalidDeviceFunction
          100 NoDevice
          101 InvalidDevice
          200 InvalidImage
          201 InvalidContext
          202 ContextAlreadyCurrent
          205 MapFailed
          206 UnmapFailed
          207 ArrayIsMapped
          208 AlreadyMapped
          209 NoBinaryForGpu
          210 AlreadyAcquired
          211 NotMapped
          212 NotMappedAsArray
          213 NotMappedAsPointer
          214 ECCNotCorrectable
          215 UnsupportedLimit
          216 ContextAlreadyInUse
          217 PeerAccessUnsupported
          218 InvalidKernelFile
          219 InvalidGraphicsContext
          300 InvalidSource
          301 FileNotFound
          302 SharedObjectSymbolNotFound
          303 SharedObjectInitFailed
          304 OperatingSystem
          400 InvalidHandle
          401 IllegalState
          500 NotFound
          600 NotReady
          700 IllegalAddress
          701 LaunchOutOfResources
          702 LaunchTimeOut
          704 PeerAccessAlreadyEnabled
          705 PeerAccessNotEnabled
          708 SetOnActiveProcess
          709 ContextIsDestroyed
          710 Assert
          712 HostMemoryAlreadyRegistered
          713 HostMemoryNotRegistered
          719 LaunchFailure
          720 CooperativeLaunchTooLarge
          801 NotSupported
          900 StreamCaptureUnsupported
          901 StreamCaptureInvalidated
          902 StreamCaptureMerge
          903 StreamCaptureUnmatched
          904 StreamCaptureUnjoined
          905 StreamCaptureIsolation
          906 StreamCaptureImplicit
          907 CapturedEvent
          908 StreamCaptureWrongThread
          910 GraphExecUpdateFailure
          999 Unknown
          1052 RuntimeMemory
          1053 RuntimeOther
          """;
}
