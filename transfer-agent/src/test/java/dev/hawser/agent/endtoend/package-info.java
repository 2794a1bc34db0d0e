/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Agents over the real engine, through the public API only: in one process, and in several. */
@NullMarked
package dev.hawser.agent.endtoend;

import org.jspecify.annotations.NullMarked;
