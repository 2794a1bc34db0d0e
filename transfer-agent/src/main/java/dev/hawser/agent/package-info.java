/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The NIXL-style API: agents, their metadata blobs, reads, writes and notifications.
 *
 * <p>It must not know the metadata service, nor name a transport.
 */
@NullMarked
package dev.hawser.agent;

import org.jspecify.annotations.NullMarked;
