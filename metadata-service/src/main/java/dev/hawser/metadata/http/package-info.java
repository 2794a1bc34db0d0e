/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The service's API over HTTP: routes, their two forms (binary for agents, JSON for people), problems, watches.
 *
 * <p>It must not know which store it works on.
 */
@NullMarked
package dev.hawser.metadata.http;

import org.jspecify.annotations.NullMarked;
