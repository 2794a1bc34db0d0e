/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.sidecar;

import dev.hawser.capi.Functions;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Ends what a function made for a caller that had hung up before it was told: nobody else knows the handle. */
final class Leftovers {
  private static final System.Logger LOG = System.getLogger(Leftovers.class.getName());
  private static final long PATIENCE_NANOS = Duration.ofSeconds(10).toNanos();
  /** By what makes something: what ends it, one after the other. A peer's handle is the same for all who ask for it. */
  private static final Map<String, List<String>> ENDS = Map.ofEntries(
      Map.entry("agent_start", List.of("agent_close")),
      Map.entry("region_register", List.of("region_close")),
      Map.entry("region_allocate", List.of("region_close")),
      Map.entry("blocks_strided", List.of("release")),
      Map.entry("blocks_triples", List.of("release")),
      Map.entry("blocks_concat", List.of("release")),
      Map.entry("transfer_prepare", List.of("release")),
      Map.entry("transfer_start", List.of("transfer_cancel", "transfer_wait", "release")),
      Map.entry("expect", List.of("release")),
      Map.entry("grant_make", List.of("grant_revoke")),
      Map.entry("grant_accept", List.of("release")));

  private final Functions functions;

  Leftovers(Functions functions) {
    this.functions = functions;
  }

  /** Whether a function makes what has to be ended. */
  static boolean isMadeBy(String function) {
    return ENDS.containsKey(function);
  }

  /** Ends what a function made. */
  void end(String function, long handle) {
    for (String step : ENDS.getOrDefault(function, List.of())) {
      int number = functions.names().indexOf(step);
      long result = functions.argumentCounts().get(number) == 1
          ? functions.call(number, handle)
          : functions.call(number, handle, PATIENCE_NANOS);
      if (result < 0) {
        LOG.log(Level.WARNING,
            "{0} for a worker that was not there to take it: {1} says {2}; it stays until the worker's"
                + " agent is closed",
            function, step, functions.lastError());
        return;
      }
    }
  }
}
