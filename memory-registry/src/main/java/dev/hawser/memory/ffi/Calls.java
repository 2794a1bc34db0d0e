/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import static dev.hawser.memory.ffi.NativeLibrary.unexpected;

import java.lang.invoke.MethodHandle;

/**
 * Calls of functions that return an {@code int}, by the shapes that the arguments of drivers have. Where a handle is the
 * field of an object, and so no constant, one call site for each shape costs no more than one for each function.
 */
public final class Calls {
  private Calls() {}

  /** A call of this shape. */
  public static int call(MethodHandle function, int a) {
    try {
      return (int) function.invokeExact(a);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a) {
    try {
      return (int) function.invokeExact(a);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a, int b) {
    try {
      return (int) function.invokeExact(a, b);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a, int b, int c) {
    try {
      return (int) function.invokeExact(a, b, c);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a, long b) {
    try {
      return (int) function.invokeExact(a, b);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a, long b, int c) {
    try {
      return (int) function.invokeExact(a, b, c);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a, long b, long c) {
    try {
      return (int) function.invokeExact(a, b, c);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a, long b, long c, int d) {
    try {
      return (int) function.invokeExact(a, b, c, d);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  /** A call of this shape. */
  public static int call(MethodHandle function, long a, long b, long c, long d) {
    try {
      return (int) function.invokeExact(a, b, c, d);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }
}
