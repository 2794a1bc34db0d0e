/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The addresses of this host's network interfaces, numeric. */
final class Interfaces {
  /**
   * One interface that is up.
   *
   * @param name for example {@code eth0}
   * @param loopback whether it is the loopback
   * @param addresses numeric, IPv4 first, without link-local ones
   */
  record Interface(String name, boolean loopback, List<String> addresses) {}

  private Interfaces() {}

  static List<Interface> up() {
    List<Interface> interfaces = new ArrayList<>();
    try {
      for (NetworkInterface nic : Collections.list(NetworkInterface.getNetworkInterfaces())) {
        if (nic.isUp()) {
          interfaces.add(new Interface(nic.getName(), nic.isLoopback(), addresses(nic)));
        }
      }
    } catch (SocketException e) {
      throw new ConfigException("listen", "cannot list the network interfaces: " + e + "; give numeric addresses");
    }
    return interfaces;
  }

  private static List<String> addresses(NetworkInterface nic) {
    List<String> v4 = new ArrayList<>();
    List<String> v6 = new ArrayList<>();
    for (InetAddress address : Collections.list(nic.getInetAddresses())) {
      if (!address.isLinkLocalAddress()) {
        String text = address.getHostAddress();
        int zone = text.indexOf('%');
        (address instanceof Inet6Address ? v6 : v4).add(zone < 0 ? text : text.substring(0, zone));
      }
    }
    v4.addAll(v6);
    return v4;
  }

  /**
   * The interfaces that {@code NCCL_SOCKET_IFNAME} picks: a list of prefixes; {@code =} before it asks for exact names,
   * {@code ^} excludes instead.
   *
   * @see <a href="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html">NCCL's environment variables</a>
   */
  static List<String> pickedByNccl(String value, List<Interface> interfaces) {
    boolean exclude = value.startsWith("^");
    String rest = exclude ? value.substring(1) : value;
    boolean exact = rest.startsWith("=");
    List<String> names = Values.list(exact ? rest.substring(1) : rest);
    List<String> addresses = new ArrayList<>();
    for (Interface candidate : interfaces) {
      boolean named = false;
      for (String name : names) {
        named |= exact ? candidate.name().equals(name) : candidate.name().startsWith(name);
      }
      if (named != exclude && !(exclude && candidate.loopback()) && !candidate.addresses().isEmpty()) {
        addresses.add(candidate.addresses().getFirst());
      }
    }
    return addresses;
  }
}
