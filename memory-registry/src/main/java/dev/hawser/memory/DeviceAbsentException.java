/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** There is no driver, or no device, of the kind that was asked for. Its message has the reason and the cure. */
public final class DeviceAbsentException extends MemoryException {
  private static final long serialVersionUID = 1L;

  private final DeviceKind kind;
  private final String reason;

  /**
   * An exception about a kind of device.
   *
   * @param kind which is absent
   * @param reason why, and what to do
   */
  public DeviceAbsentException(DeviceKind kind, String reason) {
    super("no " + kind.word() + " memory here: " + reason);
    this.kind = kind;
    this.reason = reason;
  }

  /** The kind of device that is absent. */
  public DeviceKind kind() {
    return kind;
  }

  /** Why, and what to do, without the rest of the message. */
  public String reason() {
    return reason;
  }
}
