/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The addresses to tell peers: a wildcard stands for every address of this host. */
final class Advertised {
  private Advertised() {}

  static List<String> of(List<String> listened) {
    boolean wild = false;
    for (String address : listened) {
      wild |= isWild(address);
    }
    if (!wild) {
      return listened;
    }
    List<String> told = new ArrayList<>();
    for (String address : listened) {
      if (isWild(address)) {
        addAll(address, told);
      } else {
        told.add(address);
      }
    }
    if (told.isEmpty()) {
      throw new IllegalStateException("listen: " + listened
          + " is every address of this host, but it has none beyond loopback; set HAWSER_ADVERTISE");
    }
    return told;
  }

  private static boolean isWild(String address) {
    return address.startsWith("0.0.0.0:") || address.startsWith("[::]:") || address.startsWith("[0:0:0:0:0:0:0:0]:");
  }

  private static void addAll(String wildcard, List<String> told) {
    String port = wildcard.substring(wildcard.lastIndexOf(':'));
    boolean v6 = wildcard.startsWith("[");
    try {
      for (NetworkInterface nic : Collections.list(NetworkInterface.getNetworkInterfaces())) {
        if (!nic.isUp() || nic.isLoopback()) {
          continue;
        }
        for (InetAddress address : Collections.list(nic.getInetAddresses())) {
          if (!address.isLinkLocalAddress() && (v6 || !(address instanceof Inet6Address))) {
            String text = address.getHostAddress();
            int zone = text.indexOf('%');
            String bare = zone < 0 ? text : text.substring(0, zone);
            told.add((address instanceof Inet6Address ? "[" + bare + "]" : bare) + port);
          }
        }
      }
    } catch (SocketException e) {
      throw new IllegalStateException("cannot list the network interfaces: " + e + "; set HAWSER_ADVERTISE", e);
    }
  }
}
