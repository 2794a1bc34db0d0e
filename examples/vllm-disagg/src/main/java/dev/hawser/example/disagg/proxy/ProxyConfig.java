/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import java.net.URI;
import java.time.Duration;
import java.util.List;

/**
 * The proxy's settings.
 *
 * @param host where it listens
 * @param port its port; 0 for a free one
 * @param prefill engines that compute prompts
 * @param decode engines that go on from them
 * @param mode how KV caches travel
 * @param attempts how often a request is tried before the client is told
 * @param connectTimeout for a connection to an engine
 * @param responseTimeout for the beginning of an engine's answer, the whole of a prefill included
 * @param idleTimeout for the next piece of an answer
 * @param healthInterval between two looks at an engine's health
 * @param drainDelay how long requests are still taken after the order to stop, while health says so
 * @param drainTimeout for the requests that are here then
 * @param maxBodyBytes of a request
 */
record ProxyConfig(String host, int port, List<URI> prefill, List<URI> decode, Mode mode, int attempts,
    Duration connectTimeout, Duration responseTimeout, Duration idleTimeout, Duration healthInterval,
    Duration drainDelay, Duration drainTimeout, int maxBodyBytes) {
  ProxyConfig {
    prefill = List.copyOf(prefill);
    decode = List.copyOf(decode);
  }
}
