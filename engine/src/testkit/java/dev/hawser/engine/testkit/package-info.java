/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What tests of the engine and of the modules above it share: the simulation, fake transports, fault injectors, and the
 * conformance suite that every transport passes.
 *
 * <p>It is published as the engine's test jar and never reaches a production class path.
 */
@NullMarked
package dev.hawser.engine.testkit;

import org.jspecify.annotations.NullMarked;
