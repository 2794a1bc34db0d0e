/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.util.List;
import java.util.Optional;

/** The kernel's copy between two processes: {@code perf/peers/process_vm.c}. */
final class ProcessVm implements Peer {
  private static final long SMALLEST = 64;
  private static final long CALIBRATION = 20;

  @Override
  public String name() {
    return "process_vm";
  }

  @Override
  public Optional<Metric> metric(PeerRequest request) {
    boolean comparable = request.transport().equals("shm") && !request.mapped() && request.requestBytes() >= SMALLEST;
    return comparable ? Optional.of(Metric.GBYTES_PER_S) : Optional.empty();
  }

  @Override
  public Optional<String> missing() {
    return CPrograms.missing();
  }

  @Override
  public double measure(PeerRequest request) {
    double rate = run(request, CALIBRATION);
    double iterations = rate * 1e9 * request.seconds() / request.requestBytes();
    return run(request, Math.max(CALIBRATION, Math.round(iterations)));
  }

  private double run(PeerRequest request, long iterations) {
    String out = Programs.run(List.of(CPrograms.get("process_vm").toString(), request.read() ? "read" : "write",
        Long.toString(request.requestBytes()), Long.toString(request.blockBytes()), Long.toString(iterations),
        Long.toString(request.windowBytes())), Programs.patience(request.time()));
    return JsonLine.number(name(), out, "/gbytes_per_s");
  }
}
