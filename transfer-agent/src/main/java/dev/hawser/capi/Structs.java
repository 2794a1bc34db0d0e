/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

/**
 * Where the fields of the structs of include/hawser.h are. A test has a C compiler print the same.
 *
 * <p>Each struct begins with its size as the caller knows it: a caller that was compiled for a later version, with fields
 * appended, is served, one with less than we need is refused.
 */
final class Structs {
  private Structs() {}

  /** {@code hawser_region}. */
  static final class Region {
    static final int DEVICE = 4;
    static final int ADDRESS = 8;
    static final int LENGTH = 16;
    static final int ID = 24;
    static final int ACCESS = 32;
    static final int BYTES = 40;

    private Region() {}
  }

  /** {@code hawser_peer}. */
  static final class Peer {
    static final int CONNECTED = 4;
    static final int EPOCH = 8;
    static final int REVISION = 16;
    static final int BYTES = 24;

    private Peer() {}
  }

  /** {@code hawser_request}. */
  static final class Request {
    static final int OPERATION = 4;
    static final int PEER = 8;
    static final int LOCAL = 16;
    static final int REMOTE = 24;
    static final int LOCAL_INDICES = 32;
    static final int LOCAL_COUNT = 40;
    static final int REMOTE_INDICES = 48;
    static final int REMOTE_COUNT = 56;
    static final int LOCAL_INDEX_BYTES = 64;
    static final int REMOTE_INDEX_BYTES = 68;
    static final int BYTES = 72;

    private Request() {}
  }

  /** {@code hawser_options}. */
  static final class Options {
    static final int FLAGS = 4;
    static final int NOTIFICATION = 8;
    static final int NOTIFICATION_BYTES = 16;
    static final int REQUEST_ID = 24;
    static final int COUNTER = 32;
    static final int TIMEOUT = 40;
    static final int LENT = 48;
    static final int BYTES = 56;

    private Options() {}
  }

  /** {@code hawser_transfer}. */
  static final class Transfer {
    static final int STATE = 4;
    static final int CAUSE = 8;
    static final int REMOTE = 12;
    static final int MAYBE_NOTIFIED = 16;
    static final int POSITION = 24;
    static final int TOTAL_BYTES = 32;
    static final int ACKNOWLEDGED_BYTES = 40;
    static final int ELAPSED = 48;
    static final int NUMBER = 56;
    static final int PEER_EPOCH = 64;
    static final int BYTES = 72;

    private Transfer() {}
  }

  /** {@code hawser_notification}. */
  static final class Notification {
    static final int PEER_BYTES = 4;
    static final int REQUEST_ID_BYTES = 8;
    static final int PAYLOAD_BYTES = 12;
    static final int PEER_EPOCH = 16;
    static final int TRANSFER = 24;
    static final int PEER = 32;
    static final int REQUEST_ID = 168;
    static final int PAYLOAD = 240;
    static final int BYTES = 4336;

    private Notification() {}
  }

  /** {@code hawser_lent}. */
  static final class Lent {
    static final int WRITABLE = 4;
    static final int OWNER_EPOCH = 8;
    static final int BLOCKS = 16;
    static final int OWNER = 24;
    static final int BYTES = 160;

    private Lent() {}
  }

  /**
   * The struct at an address.
   *
   * @throws IllegalArgumentException if it is NULL, or shorter than we know it
   */
  static long at(long address, int bytes, String name) {
    Foreign.notNull(address, name);
    int given = Foreign.getInt(address);
    if (given < bytes) {
      throw new IllegalArgumentException(
          name + ".struct_bytes: " + given + " is less than " + bytes + "; set it to sizeof(" + name + ")");
    }
    return address;
  }
}
