/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/** A node that serves whoever calls it, until it is closed. */
public final class BenchTarget implements AutoCloseable {
  private final BenchNode node;

  private BenchTarget(BenchNode node) {
    this.node = node;
  }

  /** Starts it; when this returns, it can be found and called. */
  public static BenchTarget start(NodeConfig config) {
    return new BenchTarget(new BenchNode(config));
  }

  /** The name by which others find it. */
  public String name() {
    return node.name();
  }

  @Override
  public void close() {
    node.close();
  }
}
