/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The transport {@code shm}: agents of one host move bytes by their own processors. Memory that a registry allocated is
 * mapped by the peer and copied directly; other host memory goes through {@code process_vm_readv} and {@code
 * process_vm_writev}. Messages travel through rings in a shared segment of memory.
 *
 * <h2>Who may store, and until when</h2>
 *
 * The initiator's thread stores into the target's memory, so the target cannot stop it: it can only ask. Each side has a
 * word in the shared segment: the target's says OPEN or CLOSED, the initiator's OPEN or RELEASED. The initiator looks at
 * the target's word before every slice of a copy (at most {@code HostMover.SLICE_BYTES}) and sets its own to RELEASED
 * once it will never store again. The target's memory stays quarantined until that word is set or the initiator's process
 * is dead as its pidfd tells.
 *
 * <p><b>The residual window.</b> An initiator that is stopped (SIGSTOP, a debugger, a frozen cgroup) inside a copy
 * completes that one slice when it wakes, however long ago the target closed the path. Nothing can prevent this from
 * outside, which is why the quarantine follows the word and the process and never a clock.
 *
 * <h2>Ordering</h2>
 *
 * A flush is a record in a ring behind the stores: it is published by a release store of the ring's tail and seen by an
 * acquire load, so whoever sees it sees the stores (Java's release/acquire, hence x86-64 and aarch64). Bytes moved by the
 * kernel were stored before the system call returned, on the same thread.
 *
 * <p>It must not know transfers' states, sessions, leases or agents. Nothing outside names it but the service loader.
 */
@NullMarked
package dev.hawser.engine.shm;

import org.jspecify.annotations.NullMarked;
