/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.hip;

import static dev.hawser.memory.ffi.Calls.call;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Compiles kernels on the machine: AMD's GPUs have no common form of code that could be made ahead. Thread-safe.
 *
 * <p>Source: hiprtc.h of HIP 5.2. It is a part of the HIP library, or a library of its own beside it.
 */
final class HipCompiler {
  // hiprtcResult hiprtcCreateProgram(hiprtcProgram* prog, const char* src, const char* name, int numHeaders,
  //                                  const char** headers, const char** includeNames);
  private final MethodHandle createProgram;
  // hiprtcResult hiprtcCompileProgram(hiprtcProgram prog, int numOptions, const char** options);
  private final MethodHandle compileProgram;
  // hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram prog, size_t* logSizeRet);
  private final MethodHandle getProgramLogSize;
  // hiprtcResult hiprtcGetProgramLog(hiprtcProgram prog, char* log);
  private final MethodHandle getProgramLog;
  // hiprtcResult hiprtcGetCodeSize(hiprtcProgram prog, size_t* codeSizeRet);
  private final MethodHandle getCodeSize;
  // hiprtcResult hiprtcGetCode(hiprtcProgram prog, char* code);
  private final MethodHandle getCode;
  // hiprtcResult hiprtcDestroyProgram(hiprtcProgram* prog);
  private final MethodHandle destroyProgram;

  /**
   * Makes the handles.
   *
   * @throws dev.hawser.memory.ffi.MissingNativeException if the library lacks a symbol
   */
  HipCompiler(NativeLibrary library) {
    createProgram =
        library.function(
            "hiprtcCreateProgram",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS, JAVA_INT, JAVA_LONG, JAVA_LONG));
    compileProgram =
        library.function("hiprtcCompileProgram", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG));
    getProgramLogSize =
        library.function("hiprtcGetProgramLogSize", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    getProgramLog = library.function("hiprtcGetProgramLog", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    getCodeSize = library.function("hiprtcGetCodeSize", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    getCode = library.function("hiprtcGetCode", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
    destroyProgram = library.function("hiprtcDestroyProgram", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
  }

  /**
   * Compiles a source.
   *
   * @param architecture for example {@code gfx90a}; empty for the device that is current on this thread
   * @return what {@code hipModuleLoadData} takes
   * @throws HipException if it does not compile, with the compiler's words
   */
  byte[] compile(byte[] source, String architecture) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(JAVA_LONG);
      check(create(out, arena.allocateFrom(new String(source, StandardCharsets.UTF_8)), arena), "hiprtcCreateProgram",
          "");
      long program = out.get(JAVA_LONG, 0);
      MemorySegment holder = arena.allocateFrom(JAVA_LONG, program);
      try {
        List<String> options = new ArrayList<>(List.of("-O3", "-ffp-contract=off"));
        if (!architecture.isEmpty()) {
          options.add("--gpu-architecture=" + architecture);
        }
        MemorySegment list = arena.allocate(JAVA_LONG, options.size());
        for (int i = 0; i < options.size(); i++) {
          list.setAtIndex(JAVA_LONG, i, arena.allocateFrom(options.get(i)).address());
        }
        int result = compile(program, options.size(), list.address());
        check(result, "hiprtcCompileProgram(kernels.cu)", result == 0 ? "" : log(program, arena));
        check(call(getCodeSize, program, out.address()), "hiprtcGetCodeSize", "");
        MemorySegment code = arena.allocate(out.get(JAVA_LONG, 0));
        check(call(getCode, program, code.address()), "hiprtcGetCode", "");
        return code.toArray(JAVA_BYTE);
      } finally {
        check(call(destroyProgram, holder.address()), "hiprtcDestroyProgram", "");
      }
    }
  }

  private int create(MemorySegment out, MemorySegment text, Arena arena) {
    try {
      return (int) createProgram.invokeExact(out.address(), text, arena.allocateFrom("kernels.cu"), 0, 0L, 0L);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  private int compile(long program, int count, long options) {
    try {
      return (int) compileProgram.invokeExact(program, count, options);
    } catch (Throwable t) {
      throw NativeLibrary.unexpected(t);
    }
  }

  private String log(long program, Arena arena) {
    MemorySegment size = arena.allocate(JAVA_LONG);
    if (call(getProgramLogSize, program, size.address()) != 0 || size.get(JAVA_LONG, 0) == 0) {
      return "it says nothing";
    }
    MemorySegment text = arena.allocate(size.get(JAVA_LONG, 0) + 1);
    return call(getProgramLog, program, text.address()) == 0 ? text.getString(0).strip() : "it says nothing";
  }

  private static void check(int result, String call, String log) {
    if (result != 0) {
      throw new HipException(
          call, result, "hiprtc result " + result, log.isEmpty() ? "see hiprtcResult in hiprtc.h" : log);
    }
  }
}
