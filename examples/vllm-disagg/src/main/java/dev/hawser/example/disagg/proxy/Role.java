/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

/** What an engine is for. */
enum Role {
  /** Computes prompts. */
  PREFILL,
  /** Goes on from them. */
  DECODE
}
