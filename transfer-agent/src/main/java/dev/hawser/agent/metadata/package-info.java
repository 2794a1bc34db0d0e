/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What an agent tells about itself, as a value and as a blob, and the client of the metadata service.
 *
 * <p>It must not know the metadata service's code, nor what a transport's description means.
 */
@NullMarked
package dev.hawser.agent.metadata;

import org.jspecify.annotations.NullMarked;
