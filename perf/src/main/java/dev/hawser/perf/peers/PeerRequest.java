/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import dev.hawser.memory.Device;
import java.time.Duration;

/**
 * What a peer is to measure.
 *
 * @param transport ours that it stands beside
 * @param read whether the bytes go to the side that posts
 * @param mapped whether all memory can be mapped by both processes
 * @param requestBytes bytes of one request
 * @param blockBytes bytes of one block; a request has one or several
 * @param windowBytes memory on each side that requests go through
 * @param time how long
 * @param depth requests that are under way at once
 * @param initiatorDevice where the bytes of the side that posts lie
 * @param targetDevice where the other's lie
 */
public record PeerRequest(String transport, boolean read, boolean mapped, long requestBytes, long blockBytes,
    long windowBytes, Duration time, int depth, Device initiatorDevice, Device targetDevice) {
  private static final double EXPECTED_BYTES_PER_SECOND = 1e9;
  private static final long LEAST = 20;
  private static final long MOST = 2_000_000;

  /** Between memory of the host, one request at a time. */
  PeerRequest(String transport, boolean read, boolean mapped, long requestBytes, long blockBytes, long windowBytes,
      Duration time) {
    this(transport, read, mapped, requestBytes, blockBytes, windowBytes, time, 1, Device.HOST, Device.HOST);
  }

  /** Requests that take about the time, for peers that count. */
  long iterations() {
    double wanted = time.toNanos() / 1e9 * EXPECTED_BYTES_PER_SECOND / requestBytes;
    return Math.round(Math.clamp(wanted, LEAST, MOST));
  }

  double seconds() {
    return time.toNanos() / 1e9;
  }

  /** Whether a GPU has the bytes of some side. */
  boolean onDevice() {
    return !initiatorDevice.isHost() || !targetDevice.isHost();
  }

  /** Whether two GPUs have them. */
  boolean betweenDevices() {
    return !initiatorDevice.isHost() && !targetDevice.isHost() && !initiatorDevice.equals(targetDevice);
  }

  /** Whether a request is one piece. */
  boolean isPlain() {
    return requestBytes == blockBytes;
  }
}
