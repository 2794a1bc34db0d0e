/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import java.util.Objects;

/**
 * Who answers at an address.
 *
 * @param name the agent's name
 * @param epoch its incarnation
 * @param host the host's name, as that host calls itself
 * @param pid its process there
 */
public record Identity(String name, long epoch, String host, long pid) {
  public Identity {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(host, "host");
  }
}
