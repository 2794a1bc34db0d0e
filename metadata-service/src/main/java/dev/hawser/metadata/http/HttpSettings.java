/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import org.jspecify.annotations.Nullable;

/**
 * What the HTTP side is bounded by.
 *
 * @param host to listen on: a name or an address
 * @param port to listen on; 0 takes a free one
 * @param tls null for none
 * @param maxBlobBytes of one publication
 * @param maxConnections open at once
 * @param maxWatchers open at once
 * @param keepaliveMillis between two signs of life on a watch
 * @param requestMillis within which a request has to arrive, head and body
 * @param idleMillis after which a connection without a request is closed
 */
public record HttpSettings(
    String host,
    int port,
    @Nullable TlsSettings tls,
    int maxBlobBytes,
    int maxConnections,
    int maxWatchers,
    long keepaliveMillis,
    long requestMillis,
    long idleMillis) {}
