/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.shm;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.WorkStatus;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Keeps what a connection reports, in order. */
final class Recorder implements ConnectionEvents {
  /** An end of work. */
  record Completed(long workId, WorkStatus status) {}

  /** A flush. */
  record Flush(long transfer, boolean abort) {}

  final List<Completed> completed = new ArrayList<>();
  final Map<Long, Long> details = new HashMap<>(); // that are not 0, by work
  final List<byte[]> messages = new ArrayList<>();
  final List<Flush> flushes = new ArrayList<>();
  final List<PathFault> faults = new ArrayList<>();
  // Everything that came from the peer, in its order.
  final List<Object> arrivals = new ArrayList<>();

  @Override
  public void completed(Connection connection, long workId, WorkStatus status, long detail) {
    completed.add(new Completed(workId, status));
    if (detail != 0) {
      details.put(workId, detail);
    }
  }

  @Override
  public void flushArrived(Connection connection, long transfer, boolean abort) {
    flushes.add(new Flush(transfer, abort));
    arrivals.add(flushes.getLast());
  }

  @Override
  public void refused(Connection connection, long transfer) {
    arrivals.add("refused " + transfer);
  }

  @Override
  public void received(Connection connection, ByteBuffer message) {
    byte[] bytes = new byte[message.remaining()];
    message.get(bytes);
    messages.add(bytes);
    arrivals.add(bytes);
  }

  @Override
  public void failed(Connection connection, PathFault fault) {
    faults.add(fault);
  }

  WorkStatus statusOf(long workId) {
    List<Completed> found = completed.stream().filter(c -> c.workId() == workId).toList();
    if (found.size() != 1) {
      throw new AssertionError("work " + workId + " completed " + found.size() + " times: " + found);
    }
    return found.getFirst().status();
  }

  boolean has(long workId) {
    return completed.stream().anyMatch(c -> c.workId() == workId);
  }
}
