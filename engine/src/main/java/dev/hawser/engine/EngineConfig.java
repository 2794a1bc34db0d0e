/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The engine's settings.
 *
 * @param name the agent's name
 * @param epoch the agent's incarnation
 * @param listen addresses to listen on, {@code host:port} with numeric hosts; port 0 takes a free
 *     one. Loopback unless the user says otherwise
 * @param transports names of the transports to use, in order of preference; empty: all that work
 * @param rails rails to post on, each as {@code name} or {@code transport:name}; empty: all
 * @param workers worker threads; 0: max(1, min(rails, cores / 2))
 * @param pathsPerRoute paths per route; 0: the transport's default
 * @param linkLease how long a silent peer counts as alive
 * @param heartbeat interval of signs of life; at most a quarter of the lease
 * @param connectTimeout of one attempt to open a path
 * @param drainTime within which a cancel ends: its last quarter is for the flush of what did not come through
 * @param notificationCredits notifications that a peer may have undelivered here
 * @param secret the cluster secret, empty for none
 * @param tls whether tcp connections are encrypted
 * @param transportSettings settings by {@code transport.name}
 */
@SuppressWarnings("ArrayRecordComponent") // a secret is bytes; configs are never compared
public record EngineConfig(
    String name,
    long epoch,
    List<String> listen,
    List<String> transports,
    List<String> rails,
    int workers,
    int pathsPerRoute,
    Duration linkLease,
    Duration heartbeat,
    Duration connectTimeout,
    Duration drainTime,
    int notificationCredits,
    byte[] secret,
    TlsConfig tls,
    Map<String, String> transportSettings) {}
