/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.engine.text.Json;

/** The functions about the JVM, and about what failed. */
@SuppressWarnings("unused") // all by method handles of the table
final class MachineFunctions {
  MachineFunctions() {}

  long lastError(long text, long capacity) {
    return Foreign.textOut(LastError.message(), text, capacity);
  }

  long lastCause() {
    return LastError.cause();
  }

  long collectGarbage() {
    System.gc();
    return 0;
  }

  long describe(long json, long capacity) {
    Runtime runtime = Runtime.getRuntime();
    String facts = Json.object()
        .text("java", Runtime.version().toString())
        .text("home", System.getProperty("java.home", ""))
        .number("heapUsed", runtime.totalMemory() - runtime.freeMemory())
        .number("heapCommitted", runtime.totalMemory())
        .number("heapMost", runtime.maxMemory())
        .number("processors", runtime.availableProcessors())
        .end();
    return Foreign.textOut(facts, json, capacity);
  }
}
