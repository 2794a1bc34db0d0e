/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Texts for people and for programs: JSON that is written, what others wrote, quoted in errors, and numbers
 * that are settings.
 *
 * <p>It must not know what is told.
 */
@NullMarked
package dev.hawser.engine.text;

import org.jspecify.annotations.NullMarked;
