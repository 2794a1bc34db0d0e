/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import io.vertx.core.Future;
import java.util.List;
import java.util.Optional;

/**
 * The entries of all agents. Every operation on one name is atomic; an acknowledged change is seen by every later
 * operation. An entry whose presence has run out is never returned.
 *
 * <p>Safe for use by any thread. A returned future fails with {@link StoreException} only when the store itself cannot
 * work; what the rules refuse is an outcome, not a failure. No method blocks.
 */
public interface Store {
  /** In place of an expected epoch: the publisher expects nothing. */
  long EXPECT_ANYTHING = -1;

  /**
   * Records a publication if its epoch is not below the recorded one, nor below any that was accepted under this name
   * in the last 24 hours.
   *
   * @param expectedEpoch the recorded epoch must be this one (0: there must be no entry), or {@link #EXPECT_ANYTHING}.
   *     The repetition of what is recorded already succeeds whatever is expected
   */
  Future<PublishOutcome> publish(Publication publication, long expectedEpoch);

  /**
   * Records a publication in the place of the entry of that very revision: how an entry is changed by who has read it.
   *
   * @param revision of the entry that it replaces
   * @return {@link PublishOutcome.Moved} when the entry is of another revision by now, or has gone
   */
  Future<PublishOutcome> replace(Publication publication, long revision);

  /** Prolongs presences, in order; one outcome for each. */
  Future<List<RenewOutcome>> renew(List<Renewal> renewals);

  Future<Optional<Agent>> fetch(String name);

  /**
   * Entries in the order of their names.
   *
   * @param after only names greater than this one; empty for all
   * @param limit at most so many
   */
  Future<Listing> list(Selector selector, String after, int limit);

  /** Deletes the entry if it is of this epoch. */
  Future<DeleteOutcome> delete(String name, long epoch);

  /** The newest revision: no event has a greater one yet. */
  Future<Long> revision();

  /** What watchers follow. It may lag behind {@link #revision}. */
  EventLog events();

  /** Where members of a group wait for each other. */
  Meetings meetings();

  /** Entries now. */
  long size();

  /** Succeeds when the store can answer; a failure says why not. */
  Future<Void> ready();

  /** Releases everything; entries may outlive it where the store is shared. */
  Future<Void> close();
}
