/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import io.vertx.core.buffer.Buffer;

/**
 * What an agent publishes: an envelope around a blob that nobody here reads.
 *
 * @param name unique in the service
 * @param epoch the agent's incarnation, unsigned, not 0
 * @param ttlMillis how long the entry stands without a renewal, milliseconds
 * @param address the control address that a newcomer under this name dials; empty when there is none
 * @param labels for selecting agents
 * @param summary a JSON object on one line for people, or empty; soft state: a change of it alone is no event
 * @param blob signed by the agent; never changed once it is in a publication
 */
public record Publication(
    String name, long epoch, long ttlMillis, String address, Labels labels, String summary, Buffer blob) {

  public Publication {
    Envelopes.name(name);
    Envelopes.epoch(epoch);
    Envelopes.ttlMillis(ttlMillis);
    Envelopes.address(address);
    if (summary.length() > Envelopes.MAX_SUMMARY) {
      throw new InvalidEnvelopeException(
          "summary", "has " + summary.length() + " bytes; at most " + Envelopes.MAX_SUMMARY + " are allowed");
    }
    if (blob.length() == 0) {
      throw new InvalidEnvelopeException("blob", "is empty; publish the agent's signed metadata");
    }
  }

  /** Whether a watcher would see no difference: same incarnation, address, labels and blob. */
  public boolean saysTheSameAs(Publication other) {
    return epoch == other.epoch
        && address.equals(other.address)
        && labels.equals(other.labels)
        && blob.equals(other.blob);
  }

  /** The same with another time to live and summary. */
  public Publication with(long newTtlMillis, String newSummary) {
    return newTtlMillis == ttlMillis && newSummary.equals(summary)
        ? this
        : new Publication(name, epoch, newTtlMillis, address, labels, newSummary, blob);
  }

  /** The same with more behind its blob. */
  public Publication append(Buffer more) {
    return new Publication(
        name, epoch, ttlMillis, address, labels, summary,
        Buffer.buffer(blob.length() + more.length()).appendBuffer(blob)
            .appendBuffer(more));
  }

  /** About what the entry costs in memory, bytes. */
  long footprint() {
    return 512L + name.length() + address.length() + summary.length() + labels.map().size() * 128L + blob.length();
  }
}
