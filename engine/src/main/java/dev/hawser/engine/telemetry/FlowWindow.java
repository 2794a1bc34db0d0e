/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

/**
 * Some completions on one path.
 *
 * @param completions how many
 * @param bytes of theirs
 * @param nanos from the first of them to the last, or the window's own length
 * @param meanLatencyNanos from post to completion
 * @param maxLatencyNanos likewise
 */
public record FlowWindow(int completions, long bytes, long nanos, long meanLatencyNanos, long maxLatencyNanos) {
  /** Nothing completed. */
  public static final FlowWindow EMPTY = new FlowWindow(0, 0, 0, 0, 0);

  /** Bytes per second; 0 if nothing completed. */
  public double bytesPerSecond() {
    return nanos <= 0 ? 0 : bytes * 1e9 / nanos;
  }
}
