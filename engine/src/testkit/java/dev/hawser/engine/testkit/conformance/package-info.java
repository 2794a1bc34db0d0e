/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The suite that every transport passes: {@link dev.hawser.engine.testkit.conformance.TransportConformance}, over two real
 * engines in one process and, where one of them is killed or stopped, in two.
 *
 * <p>It is written from the contract of {@link dev.hawser.engine.Link} and {@link dev.hawser.engine.Transfer}. It must not
 * know how the engine or a transport works inside; what it must know of a transport is in its {@link
 * dev.hawser.engine.testkit.conformance.Fixture}.
 */
@NullMarked
package dev.hawser.engine.testkit.conformance;

import org.jspecify.annotations.NullMarked;
