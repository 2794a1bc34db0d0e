/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.TlsConfig;
import dev.hawser.memory.Access;
import dev.hawser.memory.AllocationOptions;
import dev.hawser.memory.HugePages;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * All that {@link TransportConformance} knows of a transport. The class has a constructor without parameters: it is made
 * again in a second process.
 */
public interface Fixture {

  /** The transport's name, the only one that the engines may use. */
  String transport();

  /** Why it cannot be tried on this host; empty if it can. The suite is then skipped, with this reason. */
  default Optional<String> obstacle() {
    return Optional.empty();
  }

  /** What every registry is made with. */
  default MemoryRegistry.Builder registry() {
    return MemoryRegistry.builder();
  }

  /** The bytes of a region, as this process can look at them. */
  default MemorySegment bytes(Region region) {
    return region.segment();
  }

  /** Where each engine listens. */
  default List<String> listen() {
    return List.of(SuiteProperties.listen("127.0.0.1:0"));
  }

  /** As in the engine's configuration. */
  default int pathsPerRoute() {
    return 0;
  }

  /** How many paths for each route are tried where the target is another process. */
  default List<Integer> pathChoices() {
    return List.of(1, 8);
  }

  /** Which of its rails are used, each an engine's setting, where the target is another process; an empty one is all. */
  default List<List<String>> railChoices() {
    return List.of(List.of());
  }

  /** The transport's settings. */
  default Map<String, String> settings() {
    return Map.of();
  }

  /** Each engine's certificate, key and trust; off unless that is what is tried. */
  default TlsConfig tls() {
    return TlsConfig.OFF;
  }

  /**
   * Whether the initiator's own processor stores into the target's memory, so that a target that lost its peer cannot
   * free memory before that peer has let go or is dead.
   */
  default boolean mapped() {
    return false;
  }

  /**
   * Whether a NIC checks requests, and not the target's engine: it knows keys and no numbers of regions, and a request that
   * it refuses costs the path, which comes back by itself.
   */
  default boolean checkedByHardware() {
    return false;
  }

  /**
   * The bytes of a region's key, changed so that no rail has given it to anybody; used where {@link #checkedByHardware()}.
   *
   * @param by makes one damaged key differ from the next
   */
  default byte[] damagedKey(byte[] key, int by) {
    throw new UnsupportedOperationException(transport() + " has no keys that a NIC checks");
  }

  /**
   * Registers new memory of the kind that is tried, whose {@link #bytes} the host can look at. What peers may not reach is the
   * initiator's, all else the target's.
   *
   * @param arena lives longer than the region
   */
  default Region register(MemoryRegistry registry, Arena arena, long bytes, Access access) {
    return registry.allocate(bytes, access);
  }

  /** As {@link #register}, without touching it: for more bytes than the machine may have. Reads as zeros. */
  default Region reserve(MemoryRegistry registry, Arena arena, long bytes, Access access) throws IOException {
    return registry.allocate(bytes, access, new AllocationOptions(HugePages.NO, false));
  }
}
