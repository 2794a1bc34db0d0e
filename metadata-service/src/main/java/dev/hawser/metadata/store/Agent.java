/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/**
 * An entry as it was at one instant.
 *
 * @param publication what its agent said last
 * @param revision of the last change that watchers saw
 * @param expiresInMillis what was left of its presence, milliseconds, at least 1
 */
public record Agent(Publication publication, long revision, long expiresInMillis) {}
