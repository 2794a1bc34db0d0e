/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * A loaded C library, from which downcall handles are made.
 *
 * <p>Rules for those who call through the handles: pointers are {@code JAVA_LONG} on hot calls (a {@code MemorySegment}
 * argument costs a reference count on its arena); handles live in {@code static final} fields and are called with
 * {@code invokeExact}; what is thrown by a handle goes through {@link #unexpected}.
 *
 * <p>A library is a {@link SymbolLookup} with a name, so a test can stand in for it with upcall stubs. Thread-safe.
 *
 * <p>Source: {@code java.lang.foreign.Linker}, JDK 25.
 */
@SuppressWarnings("restricted") // this class is the one place where Hawser asks for native access
public final class NativeLibrary {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final NativeLibrary PROCESS = new NativeLibrary("the C library", LINKER.defaultLookup());

  private final String name;
  private final SymbolLookup symbols;

  private NativeLibrary(String name, SymbolLookup symbols) {
    this.name = name;
    this.symbols = symbols;
  }

  /** The C library that this process already uses. */
  public static NativeLibrary process() {
    return PROCESS;
  }

  /** A library whose symbols are found by {@code symbols}; {@code name} appears in errors. */
  public static NativeLibrary of(String name, SymbolLookup symbols) {
    return new NativeLibrary(name, symbols);
  }

  /**
   * Opens the first of {@code names} that can be loaded (a soname such as {@code libibverbs.so.1}, or a path), and keeps
   * it open for the life of the process.
   *
   * @throws MissingNativeException if none can be loaded; its message has the reason for each
   */
  public static NativeLibrary open(List<String> names) {
    List<String> reasons = new ArrayList<>();
    for (String candidate : names) {
      try {
        return new NativeLibrary(candidate, SymbolLookup.libraryLookup(candidate, Arena.global()));
      } catch (IllegalArgumentException e) {
        reasons.add(candidate + ": " + e.getMessage());
      }
    }
    throw new MissingNativeException("no native library of " + names + " can be loaded: " + String.join("; ", reasons));
  }

  /** The name under which it was opened. */
  public String name() {
    return name;
  }

  /** The address of an exported symbol, or empty where this version of the library lacks it. */
  public Optional<MemorySegment> find(String symbol) {
    return symbols.find(symbol);
  }

  /**
   * A handle to a function that does not report by {@code errno}.
   *
   * @throws MissingNativeException if the library lacks the symbol
   */
  public MethodHandle function(String symbol, FunctionDescriptor type) {
    return LINKER.downcallHandle(require(symbol), type);
  }

  /**
   * A handle to a function that reports by {@code errno}: its first argument is {@link Errno#capture()}, before those of
   * the C prototype.
   *
   * @param variadicFrom index of the first variadic argument of the C prototype, or −1 if it has none
   * @throws MissingNativeException if the library lacks the symbol
   */
  public MethodHandle functionWithErrno(String symbol, FunctionDescriptor type, int variadicFrom) {
    Linker.Option errno = Linker.Option.captureCallState("errno");
    return variadicFrom < 0
        ? LINKER.downcallHandle(require(symbol), type, errno)
        : LINKER.downcallHandle(require(symbol), type, errno, Linker.Option.firstVariadicArg(variadicFrom));
  }

  /** As {@link #functionWithErrno(String, FunctionDescriptor, int)}, for a function that is not variadic. */
  public MethodHandle functionWithErrno(String symbol, FunctionDescriptor type) {
    return functionWithErrno(symbol, type, -1);
  }

  /**
   * A handle to a function of integers and pointers that reports by {@code errno}, for {@link SystemCalls}.
   *
   * @param arguments how many the C prototype has
   * @param variadicFrom index of the first variadic one, or −1 if it has none
   * @throws MissingNativeException if the library lacks the symbol
   */
  public MethodHandle systemCall(String symbol, int arguments, int variadicFrom) {
    MemoryLayout[] all = new MemoryLayout[arguments];
    Arrays.fill(all, ValueLayout.JAVA_LONG);
    return functionWithErrno(symbol, FunctionDescriptor.of(ValueLayout.JAVA_LONG, all), variadicFrom);
  }

  /** As {@link #systemCall(String, int, int)}, for a function that is not variadic. */
  public MethodHandle systemCall(String symbol, int arguments) {
    return systemCall(symbol, arguments, -1);
  }

  /**
   * A handle to a bounded getter, called without leaving the Java state: a third of the usual cost, but no safepoint of
   * the whole JVM can begin while it runs. Never for what makes a system call, takes a lock or may block.
   *
   * @throws MissingNativeException if the library lacks the symbol
   */
  public MethodHandle getter(String symbol, FunctionDescriptor type) {
    return LINKER.downcallHandle(require(symbol), type, Linker.Option.critical(false));
  }

  /**
   * A handle to a function whose address came from a table of pointers rather than from a symbol.
   *
   * @param options the linker's, for example {@link Linker.Option#critical critical(false)} for a bounded getter
   */
  public static MethodHandle at(MemorySegment function, FunctionDescriptor type, Linker.Option... options) {
    if (function.address() == 0) {
      throw new MissingNativeException("the function pointer of type " + type + " is null");
    }
    return LINKER.downcallHandle(function, type, options);
  }

  /**
   * What to throw for something that a downcall handle threw: errors and unchecked exceptions as they are, all else is a
   * mistake in the binding.
   */
  public static RuntimeException unexpected(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    if (thrown instanceof RuntimeException exception) {
      return exception;
    }
    throw new AssertionError("a downcall threw a checked exception", thrown);
  }

  private MemorySegment require(String symbol) {
    return symbols
        .find(symbol)
        .orElseThrow(
            () -> new MissingNativeException(name + " has no symbol " + symbol + "; a newer version of it may have"));
  }

  @Override
  public String toString() {
    return name;
  }
}
