/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** What many agents cost, and how soon many watchers know. */
@NullMarked
package dev.hawser.metadata.load;

import org.jspecify.annotations.NullMarked;
