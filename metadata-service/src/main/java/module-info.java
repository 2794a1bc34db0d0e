/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Publish, fetch, watch and presence of agents over HTTP. It sees envelopes around signed blobs and must not know
 * what is in a blob, nor any other module.
 */
module dev.hawser.metadata {
  requires static org.jspecify;
  requires com.fasterxml.jackson.core;
  requires com.fasterxml.jackson.databind;
  requires com.github.benmanes.caffeine;
  requires io.grpc;
  requires io.grpc.netty;
  requires io.netty.codec;
  requires io.netty.codec.http;
  requires io.netty.handler;
  requires io.vertx.core;
  requires java.management;
  requires java.naming;
  requires jetcd.common;
  requires jetcd.core;
  requires micrometer.core;
  requires micrometer.registry.prometheus;

  exports dev.hawser.metadata;
}
