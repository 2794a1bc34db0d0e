/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/** Which thread sees a request through. */
public enum Completion {
  /** The one that posted it and waits for it: the way of the lowest latency. */
  CALLER,
  /** The engine's, woken for it if it sleeps, while the one that posted only looks now and then whether it has ended. */
  WORKER
}
