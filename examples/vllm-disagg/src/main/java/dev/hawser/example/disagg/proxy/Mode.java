/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

/** How a KV cache comes from the one engine to the other. */
enum Mode {
  /** The decode engine is asked behind the prefill, and reads. */
  PULL,
  /** Both are asked at once, and the prefill engine writes layer by layer. */
  PUSH
}
