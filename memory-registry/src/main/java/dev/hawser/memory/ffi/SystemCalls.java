/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Calls of handles that {@link NativeLibrary#systemCall} made: everything is taken as 64 bits, whatever the C prototype says.
 * A register or a place on the stack has as many, and a C function looks at those of them that it declares. So there are only
 * a few shapes of calls, and a process that starts makes code for each only once: that was a third of the classes that a
 * start had to make.
 *
 * <p>Of a function that returns an int the result has to be cast to int: the other bits mean nothing.
 *
 * <p>Not for calls that move bytes: those invoke their handle where they are, which is one method less for the compiler to
 * inline. At its greatest depth it gives up, and each call then makes an object.
 */
public final class SystemCalls {
  private SystemCalls() {}

  /** One argument. */
  public static long systemCall(MethodHandle function, MemorySegment errno, long a) {
    try {
      return (long) function.invokeExact(errno, a);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Two arguments. */
  public static long systemCall(MethodHandle function, MemorySegment errno, long a, long b) {
    try {
      return (long) function.invokeExact(errno, a, b);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Three arguments. */
  public static long systemCall(MethodHandle function, MemorySegment errno, long a, long b, long c) {
    try {
      return (long) function.invokeExact(errno, a, b, c);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Four arguments. */
  public static long systemCall(MethodHandle function, MemorySegment errno, long a, long b, long c, long d) {
    try {
      return (long) function.invokeExact(errno, a, b, c, d);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Five arguments. */
  public static long systemCall(MethodHandle function, MemorySegment errno, long a, long b, long c, long d, long e) {
    try {
      return (long) function.invokeExact(errno, a, b, c, d, e);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** Six arguments. */
  public static long systemCall(
      MethodHandle function, MemorySegment errno, long a, long b, long c, long d, long e, long f) {
    try {
      return (long) function.invokeExact(errno, a, b, c, d, e, f);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }
}
