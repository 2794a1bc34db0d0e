/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.bootstrap;

import dev.hawser.engine.spi.Rail;
import java.util.List;

/**
 * An attempt to open one path generation.
 *
 * @param hello what to say
 * @param rail the local rail
 * @param addresses where the target's bootstrap listens, {@code host:port} with numeric hosts
 *     ({@code 127.0.0.1:4711}, {@code [::1]:4711}), tried in this order
 * @param transportDescription what the target's metadata says of this transport
 * @param timeoutNanos how long the attempt may take altogether
 */
@SuppressWarnings("ArrayRecordComponent") // bytes of the transport; requests are never compared
public record OpenRequest(
    Hello hello, Rail rail, List<String> addresses, byte[] transportDescription, long timeoutNanos) {}
