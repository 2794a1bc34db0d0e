/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

/** What all groups of cases share. */
interface Suite {

  /** The transport. */
  Fixture fixture();

  /** A number that no other paint of this run has. */
  long seed();
}
