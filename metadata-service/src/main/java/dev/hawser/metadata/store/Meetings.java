/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

import io.vertx.core.Future;
import java.util.function.Consumer;

/** Where members of a group wait for each other. Safe for use by any thread; no method blocks. */
public interface Meetings {
  /** Makes a member of one who asks, or prolongs its membership. */
  Future<JoinOutcome> join(Join join);

  /** Who is there now; nobody, of size 0, when there is no such meeting. */
  Future<Meeting> look(MeetingId id);

  /**
   * Has {@code listener} told of meetings that somebody has joined, through any replica.
   *
   * @param listener must be quick
   * @return ends it
   */
  Runnable listen(Consumer<MeetingId> listener);
}
