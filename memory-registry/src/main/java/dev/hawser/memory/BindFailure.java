/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/**
 * A transport could not bind, or unbind, a registration.
 *
 * @param transport which
 * @param address of the registration
 * @param length of the registration in bytes
 * @param reason in the transport's words
 * @param cause what it threw
 */
public record BindFailure(String transport, long address, long length, String reason, Throwable cause) {
  static BindFailure of(RegionBinder binder, Registration registration, Throwable thrown) {
    String message = thrown.getMessage();
    return new BindFailure(
        binder.transport(),
        registration.address(),
        registration.length(),
        message == null ? thrown.getClass().getSimpleName() : message,
        thrown);
  }

  @Override
  public String toString() {
    return transport + " cannot use 0x" + Long.toHexString(address) + "+" + length + ": " + reason;
  }
}
