/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

import java.util.Objects;

/**
 * Where memory is: the host, or one GPU by its number.
 *
 * @param kind host, CUDA or HIP
 * @param ordinal the number that the driver gives it in this process, from 0; always 0 for the host
 */
public record Device(DeviceKind kind, int ordinal) {
  /** The host's memory. */
  public static final Device HOST = new Device(DeviceKind.HOST, 0);

  /**
   * A device.
   *
   * @throws InvalidMemoryException if {@code ordinal} is negative or more than 65,535, or not 0 for the host
   */
  public Device {
    Objects.requireNonNull(kind, "kind");
    if (ordinal < 0 || ordinal > 0xffff || (kind == DeviceKind.HOST && ordinal != 0)) {
      throw new InvalidMemoryException(
          "ordinal", ordinal + " is no number of a " + kind.word() + " device; give 0 to 65535, and 0 for the host");
    }
  }

  /** The CUDA device {@code ordinal}. */
  public static Device cuda(int ordinal) {
    return new Device(DeviceKind.CUDA, ordinal);
  }

  /** The HIP device {@code ordinal}. */
  public static Device hip(int ordinal) {
    return new Device(DeviceKind.HIP, ordinal);
  }

  /**
   * Reads what {@link #toString} writes: {@code host}, {@code cuda:0}, {@code hip:1}.
   *
   * @throws InvalidMemoryException if {@code text} is none of these
   */
  public static Device parse(String text) {
    if (text.equals("host")) {
      return HOST;
    }
    int colon = text.indexOf(':');
    if (colon > 0 && text.length() > colon + 1 && text.length() <= colon + 6) {
      String word = text.substring(0, colon);
      String number = text.substring(colon + 1);
      for (DeviceKind kind : DeviceKind.values()) {
        if (kind != DeviceKind.HOST && kind.word().equals(word) && number.chars().allMatch(Device::isDigit)) {
          return new Device(kind, Integer.parseInt(number));
        }
      }
    }
    throw new InvalidMemoryException(
        "device", "'" + text + "' is no device; write host, cuda:N or hip:N, for example cuda:0");
  }

  private static boolean isDigit(int c) {
    return c >= '0' && c <= '9';
  }

  /** Whether this is the host's memory. */
  public boolean isHost() {
    return kind == DeviceKind.HOST;
  }

  @Override
  public String toString() {
    return isHost() ? "host" : kind.word() + ":" + ordinal;
  }
}
