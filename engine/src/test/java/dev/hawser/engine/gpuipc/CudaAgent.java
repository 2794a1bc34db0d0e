/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.gpuipc;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.PeerDescription;
import dev.hawser.engine.TlsConfig;
import dev.hawser.engine.spi.RemoteRegion;
import dev.hawser.engine.testkit.SilentHandler;
import dev.hawser.memory.Access;
import dev.hawser.memory.Device;
import dev.hawser.memory.DeviceOps;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** An agent with one region of each kind of memory, in this process or, as {@link #main}, in another one. */
final class CudaAgent implements AutoCloseable {
  private static final HexFormat HEX = HexFormat.of();

  final MemoryRegistry registry = MemoryRegistry.create();
  final Engine engine;
  final Region device;
  final Region host;

  CudaAgent(String name, long bytes, Access access, Device where) {
    EngineConfig config =
        new EngineConfig(
            name,
            1,
            List.of("127.0.0.1:0"),
            List.of(GpuIpcTransport.NAME),
            List.of(),
            1,
            0,
            Duration.ofSeconds(10),
            Duration.ofSeconds(1),
            Duration.ofSeconds(10),
            Duration.ofMillis(20),
            64,
            new byte[0],
            TlsConfig.OFF,
            Map.of());
    engine = Engine.start(config, registry, new SilentHandler());
    device = registry.allocate(bytes, where, access);
    host = registry.allocate(bytes, access);
  }

  /** Copies the device's bytes to where the host can look at them. */
  MemorySegment look() {
    copy(device.address(), host.address());
    return host.segment();
  }

  /** Gives the device the host's bytes. */
  void load() {
    copy(host.address(), device.address());
  }

  private void copy(long from, long to) {
    try (DeviceOps ops = registry.newDeviceOps(device.device())) {
      ops.copy(from, to, device.length());
      ops.finish();
    }
  }

  @Override
  public void close() {
    engine.close();
    registry.close();
  }

  /** The other process: a name, the bytes of each region, and the number of its device. It says who it is in one line, and ends with its input. */
  public static void main(String[] arguments) throws java.io.IOException {
    try (CudaAgent agent = new CudaAgent(
        arguments[0],
        Long.parseLong(arguments[1]),
        Access.REMOTE_READ_WRITE,
        Device.cuda(Integer.parseInt(arguments[2])))) {
      System.out.println(
          String.join(
              " ",
              agent.engine.listenAddresses().getFirst(),
              HEX.formatHex(agent.engine.transportDescriptions().get(GpuIpcTransport.NAME)),
              line(agent.device),
              line(agent.host)));
      System.out.flush();
      while (System.in.read() >= 0) {
        // until it ends
      }
    }
  }

  private static String line(Region region) {
    byte[] key =
        region.remoteKeys().stream().filter(k -> k.transport().equals(GpuIpcTransport.NAME)).findFirst().orElseThrow()
            .bytes();
    return region.id() + " " + region.address() + " " + region.length() + " " + HEX.formatHex(key);
  }

  /** Reads what {@link #main} said. */
  static PeerDescription peer(String name, String[] words) {
    return new PeerDescription(
        name, 1, List.of(words[0]), Map.of(GpuIpcTransport.NAME, HEX.parseHex(words[1])));
  }

  /** The region whose words begin there. */
  static RemoteRegion region(String[] words, int at, Device device) {
    Map<String, byte[]> keys = new HashMap<>();
    keys.put(GpuIpcTransport.NAME, HEX.parseHex(words[at + 3]));
    return new RemoteRegion(
        Integer.parseInt(words[at]),
        Long.parseLong(words[at + 1]),
        Long.parseLong(words[at + 2]),
        device,
        Access.REMOTE_READ_WRITE,
        keys);
  }
}
