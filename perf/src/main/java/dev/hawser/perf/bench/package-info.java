/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Measuring transfers between two agents: what to run, both roles, the check of every byte, and the report.
 *
 * <p>It must not know the command line, nor a transport by anything but its name.
 */
@NullMarked
package dev.hawser.perf.bench;

import org.jspecify.annotations.NullMarked;
