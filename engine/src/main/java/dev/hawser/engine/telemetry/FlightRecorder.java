/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import java.util.Map;

/** Writes an event for each transfer while Java's flight recorder asks for them; costs nothing otherwise. Thread-safe. */
public final class FlightRecorder {
  /** A runtime may have been linked without the module. */
  private static final boolean PRESENT = ModuleLayer.boot().findModule("jdk.jfr").isPresent();

  private FlightRecorder() {}

  /** Whether a recording asks for transfers now. */
  public static boolean isOn() {
    return PRESENT && Recorder.hasBeenStarted() && Events.isOn();
  }

  /**
   * A transfer ended. To be called while {@link #isOn} only.
   *
   * @param peer its target
   * @param transfer its number
   * @param requestId the user's; may be empty
   * @param operation WRITE or READ
   * @param bytes of its plan
   * @param tookNanos from post to end
   * @param end how it ended
   * @param bytesByPath what each path carried of it
   */
  public static void transfer(
      String peer,
      long transfer,
      String requestId,
      String operation,
      long bytes,
      long tookNanos,
      String end,
      Map<Integer, Long> bytesByPath) {
    Events.write(peer, transfer, requestId, operation, bytes, tookNanos, end, bytesByPath);
  }

  /**
   * Loaded only where the module is. An event's class brings the recorder's machinery along, a sixth of a second of it,
   * which the first transfer would have to wait for: so it is touched only once somebody has started a recording.
   */
  private static final class Recorder {
    static boolean hasBeenStarted() {
      return jdk.jfr.FlightRecorder.isInitialized();
    }
  }

  private static final class Events {
    static boolean isOn() {
      return new TransferEvent().isEnabled();
    }

    static void write(
        String peer,
        long transfer,
        String requestId,
        String operation,
        long bytes,
        long tookNanos,
        String end,
        Map<Integer, Long> bytesByPath) {
      TransferEvent event = new TransferEvent();
      event.peer = peer;
      event.transfer = transfer;
      event.requestId = requestId;
      event.operation = operation;
      event.bytes = bytes;
      event.took = tookNanos;
      event.end = end;
      event.paths = bytesByPath.toString();
      event.commit();
    }
  }
}
