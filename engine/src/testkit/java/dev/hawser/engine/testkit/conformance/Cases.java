/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

/** What the groups of cases with two agents in one process share. */
interface Cases extends Suite {

  /** Two agents that all cases use which leave them as they were; never null, and always connected. */
  Pair pair();
}
