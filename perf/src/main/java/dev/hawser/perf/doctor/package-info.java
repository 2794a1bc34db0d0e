/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What is here, what is wrong with it, and how to mend it.
 *
 * <p>It must not change anything.
 */
@NullMarked
package dev.hawser.perf.doctor;

import org.jspecify.annotations.NullMarked;
