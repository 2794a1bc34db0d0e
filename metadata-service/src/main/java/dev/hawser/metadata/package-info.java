/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Publish, fetch, watch and presence of agents over HTTP.
 *
 * <p>It sees envelopes around signed blobs and must not know what is in a blob, nor any other module.
 */
@NullMarked
package dev.hawser.metadata;

import org.jspecify.annotations.NullMarked;
