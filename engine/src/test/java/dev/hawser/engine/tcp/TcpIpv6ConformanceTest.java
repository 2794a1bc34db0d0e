/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.tcp;

import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.ForeignMemory;
import dev.hawser.engine.testkit.conformance.TransferConformance;
import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Optional;

/** Over IPv6, one connection, and memory that was registered by its address. */
final class TcpIpv6ConformanceTest extends TransferConformance {
  TcpIpv6ConformanceTest() {
    super(new Ipv6());
  }

  /** Of this process and the second one. */
  static final class Ipv6 implements Fixture {
    @Override
    public String transport() {
      return TcpTransport.NAME;
    }

    @Override
    public Optional<String> obstacle() {
      byte[] loopback = new byte[16];
      loopback[15] = 1;
      try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getByAddress(loopback))) {
        return probe.isBound() ? Optional.empty() : Optional.of("nothing can listen on ::1");
      } catch (IOException e) {
        return Optional.of("this host has no IPv6 loopback address (sysctl net.ipv6.conf.lo.disable_ipv6=0): " + e);
      }
    }

    @Override
    public List<String> listen() {
      return List.of("[::1]:0");
    }

    @Override
    public int pathsPerRoute() {
      return 1;
    }

    @Override
    public Region register(MemoryRegistry registry, Arena arena, long bytes, Access access) {
      return ForeignMemory.register(registry, arena, bytes, access);
    }

    @Override
    public Region reserve(MemoryRegistry registry, Arena arena, long bytes, Access access) throws IOException {
      return ForeignMemory.reserve(registry, arena, bytes, access);
    }
  }
}
