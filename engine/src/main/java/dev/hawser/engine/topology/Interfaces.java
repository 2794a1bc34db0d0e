/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.topology;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Optional;

/** Interfaces by their addresses. */
public final class Interfaces {
  private Interfaces() {}

  /** The name of the interface that has a numeric address; empty if there is none, or it is no address. */
  public static Optional<String> withAddress(String address) {
    try {
      return Optional.ofNullable(NetworkInterface.getByInetAddress(InetAddress.ofLiteral(address)))
          .map(NetworkInterface::getName);
    } catch (IllegalArgumentException | SocketException e) {
      return Optional.empty();
    }
  }
}
