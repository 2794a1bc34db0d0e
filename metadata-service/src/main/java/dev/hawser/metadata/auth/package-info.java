/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Who asks, and what they may do: tokens from a file, client certificates, roles.
 *
 * <p>It must not know HTTP nor the store.
 */
@NullMarked
package dev.hawser.metadata.auth;

import org.jspecify.annotations.NullMarked;
