/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.MessageHeader;
import dev.hawser.engine.net.Sockets;
import dev.hawser.memory.ffi.Errno;

/** The socket itself. */
final class PlainWire implements Wire {
  private final int fd;
  private final MessageHeader header;

  PlainWire(int fd, MessageHeader header) {
    this.fd = fd;
    this.header = header;
  }

  @Override
  public long write(long places, int count) {
    return Sockets.sendMessage(fd, header.places(places, count).address());
  }

  @Override
  public long read(long places, int count) {
    return Sockets.readv(fd, places, count);
  }

  @Override
  public long lost() {
    return 0;
  }

  @Override
  public boolean readTellsLostPlaces() {
    return true;
  }

  @Override
  public boolean flush() {
    return true;
  }

  @Override
  public boolean holdsInput() {
    return false;
  }

  @Override
  public String describe(int errno) {
    return Errno.describe(errno);
  }
}
