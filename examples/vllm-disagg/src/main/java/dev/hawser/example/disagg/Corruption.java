/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

/** What is damaged on purpose, to show that it would be seen. */
enum Corruption {
  /** Nothing. */
  NONE,
  /** A block that was received. */
  RECEIVED_BLOCK,
  /** A block into which nothing may be written. */
  FREE_BLOCK
}
