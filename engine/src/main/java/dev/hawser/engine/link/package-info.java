/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The transfer protocol: the initiator's and the target's state machines, and nothing else.
 *
 * <p>Everything here is deterministic: time, randomness, connections and the network come through
 * {@link dev.hawser.engine.link.LinkHost} and the transport SPI, and each link has one owner at a
 * time who moves it by {@code doWork}. It must not know threads, sockets, or which transport it
 * runs on.
 */
@NullMarked
package dev.hawser.engine.link;

import org.jspecify.annotations.NullMarked;
