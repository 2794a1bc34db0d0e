/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

/**
 * What every transport must pass, over real engines: two in this process and, for those that are killed or stopped, one in
 * another. A transport extends this class in its tests and hands it a {@link Fixture}, once for each kind of memory that it
 * treats differently.
 */
public abstract class TransportConformance extends TransferConformance implements ProcessCases {

  /** For a transport's own class. */
  protected TransportConformance(Fixture fixture) {
    super(fixture);
  }
}
