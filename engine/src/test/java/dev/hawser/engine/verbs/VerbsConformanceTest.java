/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs;

import dev.hawser.engine.spi.TransportContext;
import dev.hawser.engine.spi.TransportProvider.Outcome;
import dev.hawser.engine.testkit.conformance.Fixture;
import dev.hawser.engine.testkit.conformance.TransportConformance;
import dev.hawser.memory.MemoryRegistry;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The suite over the RDMA devices of this host: soft-RoCE in the lab's guest, or real ones. */
class VerbsConformanceTest extends TransportConformance {

  VerbsConformanceTest() {
    super(new Devices());
  }

  /** What is found here, the first two rails at most. */
  static final class Devices implements Fixture {
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
