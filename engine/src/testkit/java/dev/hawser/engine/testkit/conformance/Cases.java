/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

/** What the groups of cases share. */
interface Cases {

  /** The transport. */
  Fixture fixture();

  /** Two agents that all cases use which leave them as they were; never null, and always connected. */
  Pair pair();

  /** A number that no other paint of this run has. */
  long seed();
}
