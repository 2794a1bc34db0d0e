/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

import dev.hawser.memory.MemoryRegistry;
import java.util.List;
import java.util.Map;

/**
 * What the engine gives to a transport.
 *
 * @param registry the registered memory that peers may reach; every request served in software is
 *     checked against it
 * @param agent the agent's name, for messages
 * @param epoch the agent's epoch
 * @param listenAddresses numeric addresses that the bootstrap listens on ({@code 127.0.0.1}, {@code
 *     ::1}): the tcp transport makes a rail of each
 * @param settings transport settings by name, from the configuration (lower-dash)
 */
public record TransportContext(
    MemoryRegistry registry,
    String agent,
    long epoch,
    List<String> listenAddresses,
    Map<String, String> settings) {}
