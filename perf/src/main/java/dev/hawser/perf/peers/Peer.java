/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.util.List;
import java.util.Optional;

/** Another program that moves bytes, as a measure for ours. */
public sealed interface Peer
    permits DriverCopy, Iperf3, MemcpyPeer, Perftest, PingPong, ProcessVm, TcpStream, UcxPerftest {
  /** What a peer's figure says. */
  enum Metric {
    /** Payload per second in units of 10⁹ bytes: more is better. */
    GBYTES_PER_S,
    /** Microseconds from a request to its end, the median: less is better. */
    LATENCY_US
  }

  /** All that are known. */
  static List<Peer> all() {
    return List.of(new TcpStream(), new PingPong(), new MemcpyPeer(), new ProcessVm(), new Iperf3(), new UcxPerftest(),
        new Perftest(), new DriverCopy(DriverCopy.Way.COPY), new DriverCopy(DriverCopy.Way.PEER),
        new DriverCopy(DriverCopy.Way.KERNEL),
        new DriverCopy(DriverCopy.Way.BATCH));
  }

  /** The program. */
  String name();

  /** What its figure for this request would say; empty if it has nothing to compare. */
  Optional<Metric> metric(PeerRequest request);

  /** Whether it moves the memory of GPUs; the others know only that of the host. */
  default boolean ofDevices() {
    return false;
  }

  /** As {@link #metric}, empty also if the bytes lie where it cannot move them. */
  default Optional<Metric> comparable(PeerRequest request) {
    return ofDevices() == request.onDevice() ? metric(request) : Optional.empty();
  }

  /** Why it cannot run here, with the command that mends it; empty if it can. */
  Optional<String> missing();

  /**
   * Runs it once.
   *
   * @throws PeerException if it fails, or takes much longer than it was told
   */
  double measure(PeerRequest request);
}
