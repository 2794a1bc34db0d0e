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

/** Counts, and allocates nothing. */
final class CountingEvents implements ConnectionEvents {
  long completed;
  long succeeded;
  long messages;
  long flushes;
  long faults;

  @Override
  public void completed(Connection connection, long workId, WorkStatus status, long detail) {
    completed++;
    if (status == WorkStatus.SUCCESS) {
      succeeded++;
    }
  }

  @Override
  public void flushArrived(Connection connection, long transfer, boolean abort) {
    flushes++;
  }

  @Override
  public void received(Connection connection, ByteBuffer message) {
    messages++;
  }

  @Override
  public void failed(Connection connection, PathFault fault) {
    faults++;
  }
}
