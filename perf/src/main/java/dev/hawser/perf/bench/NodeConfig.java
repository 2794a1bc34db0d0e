/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import java.net.URI;
import java.util.List;

/**
 * How a node of a bench is set up; what is not said here comes from the environment.
 *
 * @param name by which others find it
 * @param metadata where they do
 * @param listen addresses to listen on; empty: as the environment says, else loopback
 * @param rails rails to post on; empty: all
 * @param paths per route; 0: the transport's own number
 * @param plant damage to do to what initiators write and read here
 */
public record NodeConfig(String name, URI metadata, List<String> listen, List<String> rails, int paths,
    Plant plant) {

  public NodeConfig {
    listen = List.copyOf(listen);
    rails = List.copyOf(rails);
  }
}
