/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import java.util.Set;

/**
 * Service that makes a transport, found by {@link java.util.ServiceLoader}.
 */
public interface TransportProvider {

  /** The name of the transport that it makes. */
  String name();

  /** The names of its settings (lower-dash), as {@link TransportContext#settings} has them. */
  default Set<String> settings() {
    return Set.of();
  }

  /**
   * Checks one setting, whether or not the transport works here: a mistake is to be told on the host where it is made, and
   * not first on the one that has the hardware.
   *
   * @param setting one of {@link #settings}
   * @param value as the user wrote it
   * @throws IllegalArgumentException if it cannot be; the message names both and says what can
   */
  default void check(String setting, String value) {}

  /**
   * Probes the host and makes the transport.
   *
   * @return the transport, or the reason why it is absent here
   */
  Outcome create(TransportContext context);

  /** What came of {@link #create}. */
  sealed interface Outcome {
    /** It works here. */
    record Present(Transport transport) implements Outcome {}

    /**
     * It does not.
     *
     * @param reason one line, for {@code doctor} and for errors
     */
    record Absent(String reason) implements Outcome {}
  }
}
