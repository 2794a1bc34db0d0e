/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A libibverbs without a NIC: a {@link java.lang.foreign.SymbolLookup} of upcall stubs, and devices that really move bytes
 * between queue pairs of this process, with the checks that hardware makes. It is stricter than hardware where that shows
 * a mistake: it counts queues that were overfilled, objects that were used after their end and objects left behind. Every
 * completion status, asynchronous event, failing call and short poll can be injected.
 *
 * <p>{@link dev.hawser.engine.testkit.verbs.FakeVerbs} is the library, {@link dev.hawser.engine.testkit.verbs.FakeDevice}
 * one device; a test needs no other class, but for {@link dev.hawser.engine.testkit.verbs.FakeQueuePair} where it picks a
 * queue pair.
 *
 * <p>It must not know the transport that is tested: it knows libibverbs' C interface only. It complements tests on a real
 * verbs stack, which show what a kernel and a network do; here they are made up.
 */
@NullMarked
package dev.hawser.engine.testkit.verbs;

import org.jspecify.annotations.NullMarked;
