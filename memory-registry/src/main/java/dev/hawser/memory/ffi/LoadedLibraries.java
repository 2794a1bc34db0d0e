/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;

/** The shared libraries that are in this process. Thread-safe. Source: dlopen(3). */
public final class LoadedLibraries {
  private static final int RTLD_LAZY = 1;
  private static final int RTLD_NOLOAD = 4;

  // void *dlopen(const char *filename, int flags);
  private static final MethodHandle DLOPEN =
      NativeLibrary.process().function("dlopen", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT));
  // int dlclose(void *handle);
  private static final MethodHandle DLCLOSE =
      NativeLibrary.process().function("dlclose", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));

  private LoadedLibraries() {}

  /** Whether a library of this soname is loaded, by whomever; does not load it. */
  public static boolean contains(String soname) {
    try (Arena arena = Arena.ofConfined()) {
      long handle = (long) DLOPEN.invokeExact(arena.allocateFrom(soname), RTLD_LAZY | RTLD_NOLOAD);
      if (handle == 0) {
        return false;
      }
      int ignored = (int) DLCLOSE.invokeExact(handle); // gives back what dlopen counted
      return true;
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }
}
