/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.net.Sockets;
import dev.hawser.engine.text.WholeNumbers;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The transport's settings.
 *
 * @param sendBufferBytes the kernel's send buffer ({@code tcp.send-buffer}); 0 lets it size itself
 * @param receiveBufferBytes the kernel's receive buffer ({@code tcp.receive-buffer}); 0 lets it size itself
 * @param userTimeoutMillis how long sent bytes may stay unacknowledged before the path fails ({@code
 *     tcp.user-timeout-millis}); 0 leaves it to the kernel, which takes some 15 minutes
 * @param stagedChunkBytes the smallest chunk of memory of a device ({@code tcp.staged-chunk-bytes})
 */
record TcpSettings(int sendBufferBytes, int receiveBufferBytes, int userTimeoutMillis, int stagedChunkBytes) {
  private static final String PREFIX = "tcp."; // as the user writes them
  private static final String SEND_BUFFER = "send-buffer";
  private static final String RECEIVE_BUFFER = "receive-buffer";
  private static final String USER_TIMEOUT = "user-timeout-millis";
  private static final String STAGED_CHUNK = "staged-chunk-bytes";
  static final Set<String> KNOWN = new TreeSet<>(Set.of(SEND_BUFFER, RECEIVE_BUFFER, USER_TIMEOUT, STAGED_CHUNK));

  /** Above any lease that makes sense: heartbeats find a dead peer earlier. */
  private static final int DEFAULT_USER_TIMEOUT_MILLIS = 30_000;

  /**
   * A chunk of memory of a device costs two calls of its driver on each side, and a slot whatever its length: as much as
   * suits a slot was faster than any smaller chunk, also for a request that is one such chunk.
   */
  private static final int MOST_STAGED_CHUNK_BYTES = 1 << 20;

  /** What nothing is set for. */
  static final TcpSettings DEFAULTS = of(Map.of());

  /**
   * Reads the settings, whose names have lost their {@code tcp.}.
   *
   * @throws IllegalArgumentException if one is unknown or no number; the message names it
   */
  static TcpSettings of(Map<String, String> settings) {
    for (String name : settings.keySet()) {
      if (!KNOWN.contains(name)) {
        throw new IllegalArgumentException(
            "setting " + PREFIX + name + " is not known; there are " + PREFIX + String.join(", " + PREFIX, KNOWN));
      }
    }
    return new TcpSettings(
        number(settings, SEND_BUFFER, 0, 0, Integer.MAX_VALUE),
        number(settings, RECEIVE_BUFFER, 0, 0, Integer.MAX_VALUE),
        number(settings, USER_TIMEOUT, DEFAULT_USER_TIMEOUT_MILLIS, 0, Integer.MAX_VALUE),
        number(settings, STAGED_CHUNK, MOST_STAGED_CHUNK_BYTES, 1, MOST_STAGED_CHUNK_BYTES)); // a pinned slot's length
  }

  /** Other buffers and patience, for tests. */
  TcpSettings with(int sendBuffer, int receiveBuffer, int userTimeout) {
    return new TcpSettings(sendBuffer, receiveBuffer, userTimeout, stagedChunkBytes);
  }

  private static int number(Map<String, String> settings, String name, int otherwise, int least, int most) {
    String text = settings.get(name);
    return text == null ? otherwise : (int) WholeNumbers.of(PREFIX + name, text, least, most);
  }

  void apply(int fd) {
    Sockets.noDelay(fd);
    if (sendBufferBytes > 0) {
      Sockets.sendBuffer(fd, sendBufferBytes);
    }
    if (receiveBufferBytes > 0) {
      Sockets.receiveBuffer(fd, receiveBufferBytes);
    }
    if (userTimeoutMillis > 0) {
      Sockets.userTimeout(fd, userTimeoutMillis);
    }
  }
}
