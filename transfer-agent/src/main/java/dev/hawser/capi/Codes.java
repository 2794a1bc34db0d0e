/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.Operation;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceKind;

/** The numbers of include/hawser.h for states, causes, devices and operations. They never change. */
final class Codes {
  static final int IDLE = 0;
  static final int ACTIVE = 1;
  static final int DONE = 2;
  static final int FAILED = 3;
  static final int CANCELLED = 4;
  static final int INVALID = 255;

  static final long NOTIFY = 0;
  static final long READ = 1;
  static final long WRITE = 2;

  static final long AUTO = -1;

  private static final int KIND_SHIFT = 16;
  private static final int ORDINAL_MASK = 0xffff;

  private Codes() {}

  static int state(TransferEnd end) {
    return switch (end) {
      case TransferEnd.Done _ -> DONE;
      case TransferEnd.Failed _ -> FAILED;
      case TransferEnd.Cancelled _ -> CANCELLED;
    };
  }

  static int cause(TransferEnd.Cause cause) {
    return switch (cause) {
      case DEADLINE_EXCEEDED -> 1;
      case PEER_LOST -> 2;
      case PEER_RESTARTED -> 3;
      case SESSION_ENDED -> 4;
      case REFUSED -> 5;
      case REMOTE_ACCESS -> 6;
      case REMOTE_REGION_CLOSED -> 7;
      case LOCAL_ACCESS -> 8;
      case STALE -> 9;
      case NOTIFICATION_BACKLOG -> 10;
      case CLOSED -> 11;
      case CANCELLED -> 12;
    };
  }

  static int remote(RemoteState state) {
    return switch (state) {
      case PENDING -> 0;
      case DELIVERED -> 1;
      case ABORTED -> 2;
      case UNKNOWN -> 3;
      case NOT_APPLICABLE -> 4;
    };
  }

  static Operation operation(long code) {
    if (code == READ) {
      return Operation.READ;
    }
    if (code == WRITE) {
      return Operation.WRITE;
    }
    throw new IllegalArgumentException("operation: " + code + " is neither HAWSER_READ (1) nor HAWSER_WRITE (2)");
  }

  static Access access(long bits) {
    if ((bits & ~3L) != 0) {
      throw new IllegalArgumentException(
          "access: 0x" + Long.toHexString(bits) + " has other bits than HAWSER_REMOTE_READ and HAWSER_REMOTE_WRITE");
    }
    return new Access((int) bits);
  }

  static long device(Device device) {
    int kind = switch (device.kind()) {
      case HOST -> 0;
      case CUDA -> 1;
      case HIP -> 2;
    };
    return (long) kind << KIND_SHIFT | device.ordinal();
  }

  static Device device(long code) {
    int ordinal = (int) (code & ORDINAL_MASK);
    return switch (Math.clamp(code >> KIND_SHIFT, -1, 3)) {
      case 0 -> new Device(DeviceKind.HOST, ordinal);
      case 1 -> new Device(DeviceKind.CUDA, ordinal);
      case 2 -> new Device(DeviceKind.HIP, ordinal);
      default -> throw new IllegalArgumentException(
          "device: " + code + " is none; use HAWSER_DEVICE_HOST, HAWSER_DEVICE_CUDA(n) or HAWSER_DEVICE_HIP(n)");
    };
  }
}
