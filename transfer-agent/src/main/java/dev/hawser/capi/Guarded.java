/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/**
 * Functions of up to seven numbers: what one throws becomes its result. Written out, for combinators of method handles would
 * be made anew by each process that starts, class by class.
 */
final class Guarded {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

  private Guarded() {}

  /** A function that throws nothing. */
  static MethodHandle of(MethodHandle function) {
    MethodType type = function.type();
    try {
      return LOOKUP.findStatic(Guarded.class, "call", type.insertParameterTypes(0, MethodHandle.class))
          .bindTo(function);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("no function of the C ABI is of type " + type, e);
    }
  }

  static long call(MethodHandle function) {
    try {
      return (long) function.invokeExact();
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }

  static long call(MethodHandle function, long a) {
    try {
      return (long) function.invokeExact(a);
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }

  static long call(MethodHandle function, long a, long b) {
    try {
      return (long) function.invokeExact(a, b);
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }

  static long call(MethodHandle function, long a, long b, long c) {
    try {
      return (long) function.invokeExact(a, b, c);
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }

  static long call(MethodHandle function, long a, long b, long c, long d) {
    try {
      return (long) function.invokeExact(a, b, c, d);
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }

  static long call(MethodHandle function, long a, long b, long c, long d, long e) {
    try {
      return (long) function.invokeExact(a, b, c, d, e);
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }

  static long call(MethodHandle function, long a, long b, long c, long d, long e, long f) {
    try {
      return (long) function.invokeExact(a, b, c, d, e, f);
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }

  static long call(MethodHandle function, long a, long b, long c, long d, long e, long f, long g) {
    try {
      return (long) function.invokeExact(a, b, c, d, e, f, g);
    } catch (Throwable t) {
      return LastError.note(t);
    }
  }
}
