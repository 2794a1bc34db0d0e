/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.PathFault;
import dev.hawser.engine.spi.WorkStatus;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Everything that a connection reported, in order. */
final class Recorder implements ConnectionEvents {
  record Completion(long workId, WorkStatus status) {}

  final List<Completion> completions = new ArrayList<>();
  final List<Long> details = new ArrayList<>();
  final List<byte[]> messages = new ArrayList<>();
  final List<String> order = new ArrayList<>();
  @Nullable
  PathFault fault;

  @Override
  public void completed(Connection connection, long workId, WorkStatus status, long detail) {
    completions.add(new Completion(workId, status));
    details.add(detail);
    order.add("completed " + workId + " " + status);
  }

  @Override
  public void flushArrived(Connection connection, long transfer, boolean abort) {
    order.add("flush " + transfer + (abort ? " abort" : ""));
  }

  @Override
  public void received(Connection connection, ByteBuffer message) {
    byte[] bytes = new byte[message.remaining()];
    message.get(bytes);
    messages.add(bytes);
    order.add("message " + bytes.length);
  }

  @Override
  public void refused(Connection connection, long transfer) {
    order.add("refused " + transfer);
  }

  @Override
  public void failed(Connection connection, PathFault why) {
    if (fault != null) {
      throw new AssertionError("failed twice: " + fault + ", " + why);
    }
    fault = why;
    order.add("failed " + why.kind());
  }

  List<WorkStatus> statuses() {
    return completions.stream().map(Completion::status).toList();
  }

  List<Long> workIds() {
    return completions.stream().map(Completion::workId).collect(Collectors.toList());
  }

  @Override
  public String toString() {
    int from = Math.max(0, order.size() - 10);
    return order.size() + " events, the last: " + order.subList(from, order.size());
  }
}
