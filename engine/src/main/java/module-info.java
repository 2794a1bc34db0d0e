/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Transfers, paths, scheduling, commit, fencing, failover and telemetry, and the transports that carry them. It
 * must not know agents or metadata; no transport is named outside its own package.
 */
module dev.hawser.engine {
  requires static org.jspecify;
  requires transitive dev.hawser.memory;
}
