/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The NIXL-style API: agents, their metadata blobs, reads, writes and notifications. It must not know the metadata
 * service, nor name a transport.
 */
module dev.hawser.agent {
  requires static micrometer.core;
  requires static org.jspecify;
  requires transitive dev.hawser.engine;

  uses dev.hawser.engine.spi.TransportProvider;

  exports dev.hawser.agent;
  exports dev.hawser.agent.config;
  exports dev.hawser.agent.metadata;
  exports dev.hawser.agent.metrics;
  exports dev.hawser.agent.wire;
  exports dev.hawser.sidecar;
}
