/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * A numeric IPv4 or IPv6 address with a port. Never looks a name up.
 *
 * @param address the address; an IPv6 one may have a scope
 * @param port 0 to 65,535; 0 asks for a free one where it is bound
 */
public record InetEndpoint(InetAddress address, int port) {
  /** The bytes that {@link #writeTo} may need: {@code struct sockaddr_in6}. */
  static final int SOCKADDR_BYTES = 28;

  static final int AF_INET = 2;
  static final int AF_INET6 = 10;

  // struct sockaddr_in { u16 family; be16 port; u8 addr[4]; u8 zero[8] }
  // struct sockaddr_in6 { u16 family; be16 port; be32 flowinfo; u8 addr[16]; u32 scope_id }
  private static final ValueLayout.OfShort PORT = ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);
  private static final long PORT_OFFSET = 2;
  private static final long IN_ADDRESS_OFFSET = 4;
  private static final int IN_BYTES = 16;
  private static final long IN6_ADDRESS_OFFSET = 8;
  private static final long IN6_SCOPE_OFFSET = 24;

  /** An endpoint; refuses a port that does not fit 16 bits. */
  public InetEndpoint {
    Objects.requireNonNull(address, "address");
    if ((port & ~0xffff) != 0) {
      throw new IllegalArgumentException("port " + port + " is not within 0 to 65535");
    }
  }

  /**
   * Reads {@code 10.0.0.1:4711} or {@code [fe80::1%eth0]:4711}.
   *
   * @throws IllegalArgumentException if the text is not a numeric address with a port; the message says what is expected
   */
  public static InetEndpoint parse(String text) {
    int colon = text.lastIndexOf(':');
    if (colon > 0) {
      String host = text.substring(0, colon);
      boolean bracketed = host.startsWith("[") && host.endsWith("]");
      if (bracketed || host.indexOf(':') < 0) {
        try {
          int port = Integer.parseInt(text.substring(colon + 1));
          return of(bracketed ? host.substring(1, host.length() - 1) : host, port);
        } catch (IllegalArgumentException e) {
          throw new IllegalArgumentException(expected(text), e);
        }
      }
    }
    throw new IllegalArgumentException(expected(text));
  }

  /**
   * An endpoint of a numeric host, without brackets, and a port.
   *
   * @throws IllegalArgumentException if the host is not numeric or the port out of range
   */
  public static InetEndpoint of(String host, int port) {
    // The JDK also takes 1.2.3 and 16909060, which nobody means.
    if (host.indexOf(':') < 0 && host.chars().filter(c -> c == '.').count() != 3) {
      throw new IllegalArgumentException("'" + host + "' is no numeric address");
    }
    return new InetEndpoint(InetAddress.ofLiteral(host), port);
  }

  private static String expected(String text) {
    return "'"
        + text
        + "' is no address; write a numeric host and a port, for example 10.0.0.1:4711 or [::1]:4711 (port 0 takes a"
        + " free one)";
  }

  /** The same host with another port. */
  public InetEndpoint withPort(int newPort) {
    return new InetEndpoint(address, newPort);
  }

  /** The numeric host without brackets; an IPv6 scope is kept. */
  public String host() {
    return address.getHostAddress();
  }

  boolean ipv6() {
    return address instanceof Inet6Address;
  }

  int family() {
    return ipv6() ? AF_INET6 : AF_INET;
  }

  /** Writes the {@code sockaddr}; returns its length. */
  int writeTo(MemorySegment sockaddr) {
    sockaddr.fill((byte) 0);
    sockaddr.set(ValueLayout.JAVA_SHORT, 0, (short) family());
    sockaddr.set(PORT, PORT_OFFSET, (short) port);
    byte[] bytes = address.getAddress();
    if (address instanceof Inet6Address v6) {
      MemorySegment.copy(bytes, 0, sockaddr, ValueLayout.JAVA_BYTE, IN6_ADDRESS_OFFSET, bytes.length);
      sockaddr.set(ValueLayout.JAVA_INT, IN6_SCOPE_OFFSET, v6.getScopeId());
      return SOCKADDR_BYTES;
    }
    MemorySegment.copy(bytes, 0, sockaddr, ValueLayout.JAVA_BYTE, IN_ADDRESS_OFFSET, bytes.length);
    return IN_BYTES;
  }

  /** Reads a {@code sockaddr} of either family. */
  static InetEndpoint readFrom(MemorySegment sockaddr) {
    int family = sockaddr.get(ValueLayout.JAVA_SHORT, 0);
    int port = sockaddr.get(PORT, PORT_OFFSET) & 0xffff;
    try {
      if (family == AF_INET6) {
        byte[] bytes = sockaddr.asSlice(IN6_ADDRESS_OFFSET, 16).toArray(ValueLayout.JAVA_BYTE);
        int scope = sockaddr.get(ValueLayout.JAVA_INT, IN6_SCOPE_OFFSET);
        // Not getByAddress(bytes), which makes an IPv4 address of a mapped one: that is another family.
        return new InetEndpoint(Inet6Address.getByAddress(null, bytes, scope == 0 ? -1 : scope), port);
      }
      if (family == AF_INET) {
        byte[] bytes = sockaddr.asSlice(IN_ADDRESS_OFFSET, 4).toArray(ValueLayout.JAVA_BYTE);
        return new InetEndpoint(InetAddress.getByAddress(bytes), port);
      }
    } catch (UnknownHostException e) {
      throw new AssertionError("an address of 4 or 16 bytes was refused", e);
    }
    throw new IllegalArgumentException("address family " + family + " is neither IPv4 nor IPv6");
  }

  @Override
  public String toString() {
    return ipv6() ? "[" + host() + "]:" + port : host() + ":" + port;
  }
}
