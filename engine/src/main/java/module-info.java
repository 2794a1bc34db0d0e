/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Transfers, paths, scheduling, commit, fencing, failover and telemetry, and the transports that carry them. It
 * must not know agents or metadata; no transport is named outside its own package.
 */
@SuppressWarnings("module") // the one that text is exported to is compiled after this one
module dev.hawser.engine {
  requires static jdk.jfr;
  requires static org.jspecify;
  requires transitive dev.hawser.memory;
  requires org.jctools.core;

  exports dev.hawser.engine;
  exports dev.hawser.engine.spi;
  exports dev.hawser.engine.bootstrap;
  exports dev.hawser.engine.telemetry;
  exports dev.hawser.engine.net to dev.hawser.agent;
  exports dev.hawser.engine.text to dev.hawser.agent;
  exports dev.hawser.engine.topology;

  uses dev.hawser.engine.spi.TransportProvider;

  provides dev.hawser.engine.spi.TransportProvider with
      dev.hawser.engine.gpuipc.GpuIpcTransportProvider,
      dev.hawser.engine.shm.ShmTransportProvider,
      dev.hawser.engine.tcp.TcpTransportProvider,
      dev.hawser.engine.verbs.VerbsTransportProvider;
}
