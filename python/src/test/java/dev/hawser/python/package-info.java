/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Runs the tests of the Python package, which are written in Python. */
@NullMarked
package dev.hawser.python;

import org.jspecify.annotations.NullMarked;
