/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.etcd;

import dev.hawser.metadata.store.Agent;
import dev.hawser.metadata.store.Publication;
import org.jspecify.annotations.Nullable;

/**
 * What was known of a name at one revision of etcd's.
 *
 * @param publication its entry, or null
 * @param revision at which the entry was written last; 0 for none
 * @param lease that the entry is attached to; 0 for none
 * @param epoch the greatest that was accepted, or null
 * @param epochRevision at which it was written last; 0 for none
 * @param summary empty for none
 */
record Seen(
    @Nullable Publication publication,
    long revision,
    long lease,
    Values.@Nullable Epoch epoch,
    long epochRevision,
    String summary) {

  /** The greatest epoch, or 0. */
  long ended() {
    return epoch == null ? 0 : epoch.epoch();
  }

  /** The entry as others see it. What is left of a lease, only etcd could say: at most all of it. */
  @Nullable
  Agent agent() {
    return publication == null ? null : new Agent(publication, revision, publication.ttlMillis());
  }
}
