/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The transport {@code verbs}: RDMA over reliable connected queue pairs of libibverbs, on InfiniBand and RoCE.
 *
 * <p><b>Who polls what.</b> A link, and so each of its connections, has one owner at a time, and links of different owners
 * share a NIC. So every connection has a completion queue and a channel of its own: its owner polls it without a lock and
 * without looking up whose a completion is. What a completion queue per worker would save (one poll instead of one for
 * each connection) would be paid with a map from queue pair numbers and with completions that land on the wrong owner. The
 * receives are shared, one queue for each rail, because memory for messages must not grow with the number of peers: a slot
 * belongs to the device, then to the connection that polled it, then to the device again, so nothing of ours needs a lock;
 * connections give slots back in batches, and at once when the rail is low.
 *
 * <p>It must not know transfers' states, sessions or agents; nothing outside names it.
 */
@NullMarked
package dev.hawser.engine.verbs;

import org.jspecify.annotations.NullMarked;
