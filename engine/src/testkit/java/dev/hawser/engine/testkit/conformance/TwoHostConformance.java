/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

/** {@link FarConformance}, and peers on the other host that are killed or stopped. */
public abstract class TwoHostConformance extends FarConformance implements ProcessCases {

  /** For a transport's own class. */
  protected TwoHostConformance(Fixture fixture) {
    super(fixture);
  }
}
