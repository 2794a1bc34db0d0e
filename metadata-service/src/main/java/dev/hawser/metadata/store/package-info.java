/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Where agents' entries are kept: the rules of epochs, presence and revisions, and the log of events that watchers
 * follow.
 *
 * <p>It must not know HTTP, JSON or who asks; blobs are opaque here too.
 */
@NullMarked
package dev.hawser.metadata.store;

import org.jspecify.annotations.NullMarked;
