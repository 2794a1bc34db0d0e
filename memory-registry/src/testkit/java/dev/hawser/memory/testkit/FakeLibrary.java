/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.testkit;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Makes a C library out of an object: each method whose name matches a pattern is one, by an upcall stub. */
final class FakeLibrary implements SymbolLookup {
  /** What a {@link MemorySegment} parameter stands for: 64 bytes by value, as IPC handles are. */
  private static final MemoryLayout HANDLE =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(64, ValueLayout.JAVA_BYTE));

  private final Map<String, MemorySegment> symbols = new HashMap<>();

  FakeLibrary(Object functions, MethodHandles.Lookup lookup, String names) {
    for (Method method : functions.getClass().getDeclaredMethods()) {
      if (method.getName().matches(names) && !method.isSynthetic()) {
        symbols.put(method.getName(), stub(functions, lookup, method));
      }
    }
  }

  @SuppressWarnings("restricted") // a test stand-in for a C library
  private static MemorySegment stub(Object functions, MethodHandles.Lookup lookup, Method method) {
    try {
      MethodHandle handle = lookup.unreflect(method).bindTo(functions);
      MemoryLayout[] arguments =
          Arrays.stream(method.getParameterTypes()).map(FakeLibrary::layout).toArray(MemoryLayout[]::new);
      return Linker.nativeLinker().upcallStub(
          handle, FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments), Arena.global());
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  private static MemoryLayout layout(Class<?> type) {
    if (type == long.class) {
      return ValueLayout.JAVA_LONG;
    }
    if (type == int.class) {
      return ValueLayout.JAVA_INT;
    }
    if (type == byte.class) {
      return ValueLayout.JAVA_BYTE;
    }
    return HANDLE;
  }

  /** Leaves a symbol out, as an older library would. */
  void remove(String symbol) {
    symbols.remove(symbol);
  }

  @Override
  public Optional<MemorySegment> find(String name) {
    return Optional.ofNullable(symbols.get(name));
  }
}
