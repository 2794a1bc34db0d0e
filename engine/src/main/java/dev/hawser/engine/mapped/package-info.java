/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * What the transports have in common whose initiator reaches into the memory of another process of its host: the shared
 * segment with its rings, the bell, an eye on the other process, and the rules for lending memory and for letting it go.
 *
 * <h2>Who may store, and until when</h2>
 *
 * The initiator stores into the target's memory, so the target cannot stop it: it can only ask. Each side has a word in the
 * shared segment that says OPEN or OVER. The initiator looks at the target's word before it begins anything, and sets its
 * own to OVER once nothing of it will ever store again. The target's memory stays quarantined until that word is set or the
 * initiator's process is dead as its pidfd tells.
 *
 * <p>It must not know how bytes are moved, nor transfers' states, sessions, leases or agents.
 */
@NullMarked
package dev.hawser.engine.mapped;

import org.jspecify.annotations.NullMarked;
