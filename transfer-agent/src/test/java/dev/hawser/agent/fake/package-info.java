/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** An engine and a metadata service in one process, with faults on demand, for the tests of the agent. */
@NullMarked
package dev.hawser.agent.fake;

import org.jspecify.annotations.NullMarked;
