/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.topology;

/** How near two devices are; the nearer comes first. */
public enum Nearness {
  /** Below one PCIe switch: bytes between them need not come to the processor. */
  SAME_SWITCH("same switch", 1.0),
  /** Below one root port, with a switch of its own at most one of them. */
  SAME_ROOT_PORT("same root port", 0.95),
  /** At one host bridge. */
  SAME_HOST_BRIDGE("same host bridge", 0.9),
  /** At one NUMA node. */
  SAME_NUMA("same NUMA node", 0.85),
  /** On different NUMA nodes: bytes cross from one socket to another. */
  OTHER_NUMA("other NUMA node", 0.5),
  /** One of them says nothing of its place: a virtual device. */
  UNKNOWN("unknown", 0.85);

  private final String text;
  private final double weight;

  Nearness(String text, double weight) {
    this.text = text;
    this.weight = weight;
  }

  /**
   * What a rail so near is worth, of one that is next to the memory. A rule of thumb, no measurement: it decides between
   * rails of which nothing was measured yet.
   */
  public double weight() {
    return weight;
  }

  /** For people. */
  @Override
  public String toString() {
    return text;
  }
}
