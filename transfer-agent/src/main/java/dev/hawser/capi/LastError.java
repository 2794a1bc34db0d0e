/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.TransferException;
import dev.hawser.engine.EngineException;
import dev.hawser.engine.TransferEnd;
import dev.hawser.memory.MemoryException;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** What failed last in each thread. A foreign thread stays the same Java thread until it ends. */
final class LastError {
  private static final System.Logger LOG = System.getLogger(LastError.class.getName());
  private static final ThreadLocal<LastError> OF_THREAD = ThreadLocal.withInitial(LastError::new);

  private String message = "";
  private long cause;

  private LastError() {}

  /**
   * Finds out whether the jars are there without which no error could be told: then it would end the JVM.
   *
   * @throws NoClassDefFoundError if one is not
   */
  static void requireJars() {
    LOG.log(Level.TRACE, "{0} and {1} can be told", MemoryException.class, EngineException.class);
  }

  /** Notes what a function threw and gives its code. Called for every exception that would leave one. */
  @SuppressWarnings("unused") // by a method handle
  static long note(Throwable thrown) {
    ErrorCode code = ErrorCode.of(thrown);
    LastError last = OF_THREAD.get();
    last.message = text(thrown, code);
    TransferEnd.Cause failure = thrown instanceof TransferException transfer ? transfer.failure() : null;
    last.cause = failure == null ? 0 : Codes.cause(failure);
    if (code == ErrorCode.INTERNAL) {
      LOG.log(Level.ERROR, "a call through the C ABI failed in a way that it should not", thrown);
    }
    return code.number();
  }

  private static String text(Throwable thrown, ErrorCode code) {
    if (thrown instanceof NoClassDefFoundError) {
      return "a jar is missing (" + thrown.getMessage() + " is not found): put all of Hawser's jars on the class path";
    }
    @Nullable
    String message = thrown.getMessage();
    return code == ErrorCode.INTERNAL || message == null ? thrown.toString() : message;
  }

  static String message() {
    return OF_THREAD.get().message;
  }

  static long cause() {
    return OF_THREAD.get().cause;
  }
}
