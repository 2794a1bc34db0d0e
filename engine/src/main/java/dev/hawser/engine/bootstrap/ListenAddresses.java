/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.net.InetEndpoint;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;

/** Turns what a listener is bound to into addresses that a peer can dial. */
final class ListenAddresses {
  private ListenAddresses() {}

  /**
   * A wildcard becomes every address of that family on the interfaces that are up, loopback only if there is no other;
   * anything else stays what it is.
   */
  static List<InetEndpoint> reachable(InetEndpoint bound) {
    if (!bound.address().isAnyLocalAddress()) {
      return List.of(bound);
    }
    Class<? extends InetAddress> family =
        bound.address() instanceof Inet6Address ? Inet6Address.class : Inet4Address.class;
    List<InetEndpoint> others = new ArrayList<>();
    List<InetEndpoint> loopback = new ArrayList<>();
    try {
      for (NetworkInterface each : NetworkInterface.networkInterfaces().toList()) {
        if (each.isUp()) {
          each.inetAddresses()
              // A link-local address means nothing without its interface, whose number only this host knows.
              .filter(address -> family.isInstance(address) && !address.isLinkLocalAddress())
              .forEach(
                  address -> (address.isLoopbackAddress() ? loopback : others)
                      .add(new InetEndpoint(withoutScope(address), bound.port())));
        }
      }
    } catch (SocketException e) {
      throw new BootstrapException(
          "the interfaces of this host cannot be listed (" + e.getMessage() + "): listen on an address, not on "
              + bound,
          e);
    }
    return others.isEmpty() ? loopback : others;
  }

  /** The JDK attaches the interface to every IPv6 address that it lists. */
  private static InetAddress withoutScope(InetAddress address) {
    try {
      return address instanceof Inet6Address ? Inet6Address.getByAddress(null, address.getAddress(), -1) : address;
    } catch (UnknownHostException e) {
      throw new AssertionError("an address of 16 bytes was refused", e);
    }
  }
}
