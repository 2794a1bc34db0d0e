/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A disaggregated prefill/decode deployment on Hawser. It uses what a user may use: the agent and the metadata
 * service, nothing below them.
 */
module dev.hawser.example.disagg {
  requires static org.jspecify;
  requires dev.hawser.agent;
  requires dev.hawser.metadata;
  requires info.picocli;
  requires io.vertx.core;

  opens dev.hawser.example.disagg to info.picocli;
  opens dev.hawser.example.disagg.proxy to info.picocli;
}
