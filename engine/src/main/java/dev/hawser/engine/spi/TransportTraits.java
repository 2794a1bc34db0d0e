/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.spi;

/**
 * What a transport can do; constant for its lifetime.
 *
 * @param mapped the initiator's own processor stores into the target's memory, so the target cannot
 *     fence it: a lapse quarantines the memory until the peer lets go or its process is dead
 * @param synchronous small requests are complete when {@link Connection#postData} returns, and a
 *     caller may post them itself
 * @param maxMessageBytes the largest message, at least 4,608: a notification of 4 KiB with its header
 * @param flushBits how many low bits of a transfer's number a flush carries: 64, or 31 where the NIC
 *     has 32 bits of immediate data
 * @param preferredChunkBytes upper bound of a chunk that suits it
 * @param defaultPaths paths per route when the user does not say
 * @param stagedChunkBytes the smallest chunk of memory of devices that suits it, which goes through memory of the host (only
 *     where no other transport reaches it): each costs calls of the driver on both sides; 0: nothing is staged
 */
public record TransportTraits(
    boolean mapped,
    boolean synchronous,
    int maxMessageBytes,
    int flushBits,
    int preferredChunkBytes,
    int defaultPaths,
    int stagedChunkBytes) {

  /** Whether memory of devices goes through memory of the host. */
  public boolean stages() {
    return stagedChunkBytes > 0;
  }
}
