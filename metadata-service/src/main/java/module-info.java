/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Publish, fetch, watch and presence of agents over HTTP. It sees envelopes around signed blobs and must not know
 * what is in a blob, nor any other module.
 */
module dev.hawser.metadata {
  requires static org.jspecify;
}
