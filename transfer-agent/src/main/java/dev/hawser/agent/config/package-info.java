/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The settings of an agent, where each came from, and what it means.
 *
 * <p>It must not know agents, links or any transport by name.
 */
@NullMarked
package dev.hawser.agent.config;

import org.jspecify.annotations.NullMarked;
