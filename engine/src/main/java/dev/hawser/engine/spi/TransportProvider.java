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
