/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider.Outcome;
import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.TransferConformance;
import dev.hawser.memory.Access;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * The suite over the RDMA devices of this host: soft-RoCE in the lab's guest, or real ones. What takes another process is
 * tried by {@link VerbsFarConformanceTest}.
 */
class VerbsConformanceTest extends TransferConformance {

  VerbsConformanceTest() {
    super(new Devices());
  }

  /** What is found here, the first two rails at most. */
  static final class Devices implements Fixture {
    private static final long SPARE = 1L << 30;

    @Override
    public String transport() {
      return VerbsTransport.NAME;
    }

    @Override
    public boolean checkedByHardware() {
      return true;
    }

    @Override
    public byte[] damagedKey(byte[] key, int by) {
      return Keys.damaged(key, by);
    }

    /** The first rail alone, and all. */
    @Override
    public List<List<String>> railChoices() {
      try (Stream<Path> devices = Files.list(Path.of("/sys/class/infiniband"))) {
        List<String> names = devices.map(device -> device.getFileName().toString()).sorted().toList();
        return names.size() < 2 ? List.of(List.of()) : List.of(List.of(names.getFirst()), names.subList(0, 2));
      } catch (IOException none) {
        return List.of(List.of());
      }
    }

    /** A NIC locks all of it, touched or not. */
    @Override
    public Region reserve(MemoryRegistry registry, Arena arena, long bytes, Access access) throws IOException {
      long available = availableBytes();
      if (available < bytes + SPARE) {
        return Assumptions.abort(
            "registering %d bytes locks them, and %d are available here; perf/labs/rdma/run.sh one --memory 8192"
                .formatted(bytes, available));
      }
      return Fixture.super.reserve(registry, arena, bytes, access);
    }

    private static long availableBytes() throws IOException {
      for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
        if (line.startsWith("MemAvailable:")) {
          return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
        }
      }
      return 0;
    }

    @Override
    public Optional<String> obstacle() {
      try (MemoryRegistry registry = MemoryRegistry.create()) {
        TransportContext context = new TransportContext(registry, "probe", 1, List.of("127.0.0.1"), Map.of());
        return switch (new VerbsTransportProvider().create(context)) {
          case Outcome.Absent(String reason) ->
            Optional.of(reason + "; the RDMA lab has devices: perf/labs/rdma/run.sh one -- COMMAND");
          case Outcome.Present(var transport) -> {
            transport.close();
            yield Optional.empty();
          }
        };
      }
    }
  }
}
