/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import dev.hawser.engine.spi.Connection;
import dev.hawser.engine.spi.ConnectionEvents;
import dev.hawser.engine.spi.DataRequest;
import dev.hawser.engine.spi.PathKey;
import dev.hawser.engine.spi.WaitSet;
import java.nio.ByteBuffer;

/** A connection on which nothing happens: a test overrides what it is about. */
public class IdleConnection implements Connection {
  private final PathKey key;

  public IdleConnection(PathKey key) {
    this.key = key;
  }

  @Override
  public final PathKey key() {
    return key;
  }

  @Override
  public String describe() {
    return "idle path " + key;
  }

  @Override
  public int segmentBudget() {
    return 0;
  }

  @Override
  public int maxSegments() {
    return 1;
  }

  @Override
  public boolean postData(long workId, DataRequest request) {
    return false;
  }

  @Override
  public boolean postFlush(long workId, long transfer, boolean abort) {
    return false;
  }

  @Override
  public boolean postMessage(long workId, ByteBuffer message) {
    return false;
  }

  @Override
  public void flushPosted() {}

  @Override
  public int poll(ConnectionEvents events) {
    return 0;
  }

  @Override
  public long progress() {
    return 0;
  }

  @Override
  public void abort() {}

  @Override
  public boolean drained() {
    return true;
  }

  @Override
  public void attach(WaitSet waitSet) {}

  @Override
  public boolean arm() {
    return true;
  }

  @Override
  public void close() {}
}
