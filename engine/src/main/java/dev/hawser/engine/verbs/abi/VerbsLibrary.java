/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import dev.hawser.memory.ffi.MissingNativeException;
import dev.hawser.memory.ffi.NativeLibrary;
import java.lang.foreign.SymbolLookup;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A libibverbs: that of the system, loaded when it is first asked for, or one that stands in for it. Thread-safe.
 */
public final class VerbsLibrary {
  private static final List<String> NAMES = List.of("libibverbs.so.1", "libibverbs.so");

  private static volatile @Nullable VerbsLibrary installed;

  private final VerbsBindings bindings;
  private final String name;
  private final boolean mayCallBack;

  private VerbsLibrary(NativeLibrary library, boolean mayCallBack) {
    this.name = library.name();
    this.bindings = new VerbsBindings(library);
    this.mayCallBack = mayCallBack;
  }

  /**
   * The library of this process: the one that was {@linkplain #install installed}, else that of the system, which stays
   * loaded for the life of the process.
   *
   * @throws MissingNativeException if there is none, or one that lacks a function; the message says what to install
   */
  public static VerbsLibrary get() {
    VerbsLibrary present = installed;
    return present != null ? present : OfTheSystem.LIBRARY.orThrow();
  }

  /**
   * A library whose functions are found by {@code symbols}. They may be upcall stubs, those behind {@code context->ops}
   * too.
   *
   * @throws MissingNativeException if a function is missing
   */
  public static VerbsLibrary of(String name, SymbolLookup symbols) {
    return new VerbsLibrary(NativeLibrary.of(name, symbols), true);
  }

  /** Lets a stand-in play libibverbs for every engine that starts from now on; null for the system's own again. */
  public static void install(@Nullable VerbsLibrary standIn) {
    installed = standIn;
  }

  /** Whether a stand-in plays libibverbs at present. */
  public static boolean isStandIn() {
    return installed != null;
  }

  /** The name under which it was opened, for messages. */
  public String name() {
    return name;
  }

  VerbsBindings bindings() {
    return bindings;
  }

  /** True if a function of it may be Java: then none may be called as a critical one. */
  boolean mayCallBack() {
    return mayCallBack;
  }

  /** Loaded once; a failure is kept. */
  private static final class OfTheSystem {
    static final Attempt LIBRARY = attempt();

    private static Attempt attempt() {
      try {
        return new Attempt(new VerbsLibrary(NativeLibrary.open(NAMES), false), "");
      } catch (MissingNativeException e) {
        return new Attempt(null, Objects.requireNonNullElse(e.getMessage(), e.toString()));
      }
    }
  }

  private record Attempt(@Nullable VerbsLibrary library, String reason) {
    VerbsLibrary orThrow() {
      VerbsLibrary present = library;
      if (present == null) {
        throw new MissingNativeException(reason);
      }
      return present;
    }
  }
}
