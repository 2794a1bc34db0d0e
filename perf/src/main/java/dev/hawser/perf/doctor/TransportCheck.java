/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.doctor;

import dev.hawser.agent.Agent;
import dev.hawser.agent.config.ConfigException;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.EngineException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** Looks for transports by starting an agent with the settings of the environment, and without a metadata service. */
public final class TransportCheck {
  private static final String NAME = "hawser-doctor";

  private TransportCheck() {}

  /** What works, and why the others do not. */
  public static List<Finding> findings() {
    List<Finding> findings = new ArrayList<>();
    try (Agent agent = Agent.builder(HawserConfig.builder().name(NAME).metadata().build()).start()) {
      for (String name : new TreeSet<>(agent.transports())) {
        findings.add(Finding.ok("transport", name + " works"));
      }
      agent.absentTransports().entrySet().stream().sorted(java.util.Map.Entry.comparingByKey())
          .forEach(absent -> findings.add(
              Finding.note("transport", absent.getKey() + " is absent", absent.getValue())));
    } catch (ConfigException | EngineException e) {
      findings.add(Finding.problem("transport", "an agent cannot start", String.valueOf(e.getMessage())));
    }
    return findings;
  }
}
