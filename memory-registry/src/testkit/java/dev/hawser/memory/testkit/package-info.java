/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Stand-ins for GPU drivers, for the tests of every module: whole drivers over host memory, with faults to order. */
@NullMarked
package dev.hawser.memory.testkit;

import org.jspecify.annotations.NullMarked;
