/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory;

/** How {@link DeviceOps#reduce} joins elements. */
public enum ReduceOp {
  /** The sum. Integers wrap around. */
  SUM,
  /** The smallest; NaN if there is one. */
  MIN,
  /** The largest; NaN if there is one. */
  MAX,
  /** The sum divided by how many there are. Integers are summed in 64 bits and rounded toward zero. */
  AVG
}
