/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

/** What every transport must pass when the target is another process. */
public abstract class FarConformance extends FarTests implements FarCases {

  /** For a transport's own class. */
  protected FarConformance(Fixture fixture) {
    super(fixture);
  }
}
