/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** A real browser on the page. */
@NullMarked
package dev.hawser.metadata.page;

import org.jspecify.annotations.NullMarked;
