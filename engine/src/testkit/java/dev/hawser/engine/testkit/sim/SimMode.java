/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.sim;

/** What kind of transport a simulated connection behaves like. */
public enum SimMode {
  /** A reliable queue pair: acknowledged when received, in memory some time later. */
  RC,
  /** A stream served in software: acknowledged when applied; a half-received chunk is dropped at a fence. */
  STREAM,
  /** Mapped memory: the initiator's own processor stores; the target cannot stop it. */
  MAPPED
}
