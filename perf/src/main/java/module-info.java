/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The command line, the benchmarks, and comparisons with peers. It must not name a transport class: it asks the
 * engine for a transport by its name.
 */
module dev.hawser.perf {
  requires static org.jspecify;
  requires dev.hawser.agent;
  requires dev.hawser.metadata;
  requires com.fasterxml.jackson.databind;
  requires HdrHistogram;
  requires info.picocli;
  requires java.management;
  requires jdk.management;

  opens dev.hawser.perf to info.picocli;
}
