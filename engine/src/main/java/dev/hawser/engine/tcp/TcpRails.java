/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.spi.Rail;
import dev.hawser.engine.spi.Reachability;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One rail for each address that the agent listens on, and which of them leads to which of a peer's. */
final class TcpRails {
  /** Below what moves memory without the kernel's stream. */
  private static final int PREFERENCE = 100;

  private static final long MEGABIT = 1_000_000;

  private final List<Rail> rails;
  private final List<@Nullable InterfaceAddress> interfaces;
  private final TcpDescription description;

  private TcpRails(List<Rail> rails, List<@Nullable InterfaceAddress> interfaces, TcpDescription description) {
    this.rails = rails;
    this.interfaces = interfaces;
    this.description = description;
  }

  /** The rails of numeric addresses. */
  static TcpRails of(List<String> addresses) {
    return of(addresses, hostIdentity());
  }

  static TcpRails of(List<String> addresses, String host) {
    List<Rail> rails = new ArrayList<>();
    List<@Nullable InterfaceAddress> interfaces = new ArrayList<>();
    for (String address : addresses) {
      InetAddress inet = InetAddress.ofLiteral(address);
      NetworkInterface device = device(inet);
      rails.add(new Rail(TcpTransport.NAME, address, rails.size(), device == null ? 0 : bitsPerSecond(device)));
      interfaces.add(device == null ? null : entry(device, inet));
    }
    return new TcpRails(List.copyOf(rails), interfaces, new TcpDescription(host, addresses));
  }

  /** The interface that has a numeric address; null if none has. */
  static @Nullable NetworkInterface device(String address) {
    return device(InetAddress.ofLiteral(address));
  }

  private static @Nullable NetworkInterface device(InetAddress address) {
    try {
      return NetworkInterface.getByInetAddress(address);
    } catch (SocketException e) {
      return null; // a rail of unknown speed and subnet
    }
  }

  private static @Nullable InterfaceAddress entry(NetworkInterface device, InetAddress address) {
    for (InterfaceAddress each : device.getInterfaceAddresses()) {
      if (each.getAddress().equals(address)) {
        return each;
      }
    }
    return null;
  }

  private static long bitsPerSecond(NetworkInterface device) {
    try {
      String speed = Files.readString(Path.of("/sys/class/net", device.getName(), "speed")).strip();
      return Math.max(0, Long.parseLong(speed)) * MEGABIT;
    } catch (IOException | NumberFormatException e) {
      return 0; // loopback and virtual interfaces have none
    }
  }

  /** Two agents with the same one share a loopback interface. */
  private static String hostIdentity() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip()
          + "/"
          + Files.readSymbolicLink(Path.of("/proc/self/ns/net"));
    } catch (IOException e) {
      return ""; // then nobody is taken for a neighbour
    }
  }

  List<Rail> rails() {
    return rails;
  }

  TcpDescription description() {
    return description;
  }

  Reachability reach(TcpDescription peer) {
    boolean neighbour = !peer.host().isEmpty() && peer.host().equals(description.host());
    List<Reachability.Route> routes = new ArrayList<>();
    List<String> hidden = new ArrayList<>();
    for (String remote : peer.rails()) {
      boolean loopback = InetAddress.ofLiteral(remote).isLoopbackAddress();
      if (loopback && !neighbour) {
        hidden.add(remote);
      } else {
        routes.add(new Reachability.Route(best(remote, routes.size()), remote));
      }
    }
    if (!routes.isEmpty()) {
      return new Reachability.Reachable(PREFERENCE, routes);
    }
    return new Reachability.Unreachable(
        hidden.isEmpty()
            ? "tcp: the peer listens nowhere"
            : "tcp: the peer listens on loopback only (" + String.join(", ", hidden)
                + "), on another host: let it listen on an address of its network");
  }

  /** The rail in the same subnet, else one of the same kind, else any: then the route is the kernel's choice. */
  private Rail best(String remote, int turn) {
    InetAddress address = InetAddress.ofLiteral(remote);
    List<Rail> sameSubnet = new ArrayList<>();
    List<Rail> sameKind = new ArrayList<>();
    for (int i = 0; i < rails.size(); i++) {
      InterfaceAddress own = interfaces.get(i);
      if (canReach(rails.get(i).name(), remote)) {
        sameKind.add(rails.get(i));
        if (own != null && sharesSubnet(own, address)) {
          sameSubnet.add(rails.get(i));
        }
      }
    }
    List<Rail> choice = !sameSubnet.isEmpty() ? sameSubnet : !sameKind.isEmpty() ? sameKind : rails;
    return choice.get(turn % choice.size());
  }

  private static boolean sharesSubnet(InterfaceAddress own, InetAddress other) {
    byte[] left = own.getAddress().getAddress();
    byte[] right = other.getAddress();
    int bits = own.getNetworkPrefixLength();
    for (int i = 0; i < bits; i++) {
      int mask = 0x80 >> (i & 7);
      if (((left[i / 8] ^ right[i / 8]) & mask) != 0) {
        return false;
      }
    }
    return true;
  }

  /** True if a socket bound to {@code local} can dial {@code remote}: the same family, and both loopback or neither. */
  static boolean canReach(String local, String remote) {
    InetAddress left = InetAddress.ofLiteral(local);
    InetAddress right = InetAddress.ofLiteral(remote);
    return left instanceof Inet4Address == right instanceof Inet4Address
        && left.isLoopbackAddress() == right.isLoopbackAddress();
  }
}
