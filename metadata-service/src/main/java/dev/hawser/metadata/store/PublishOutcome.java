/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/** How a publication ended. */
public sealed interface PublishOutcome {
  /**
   * It is recorded.
   *
   * @param revision of the entry; unchanged when the publication said nothing new
   * @param replacedEpoch the incarnation that it superseded, or 0
   * @param created whether there was no entry before
   */
  record Published(long revision, long replacedEpoch, boolean created) implements PublishOutcome {}

  /**
   * The name is, or was, held by a newer incarnation.
   *
   * @param recordedEpoch of that one
   * @param recordedAddress its control address; empty when it is not known
   */
  record Superseded(long recordedEpoch, String recordedAddress)
      implements
        PublishOutcome,
        Barred {}

  /**
   * The recorded epoch is not the expected one.
   *
   * @param recordedEpoch 0 when there is no entry
   * @param recordedAddress empty when there is none
   */
  record Mismatch(long recordedEpoch, String recordedAddress) implements PublishOutcome {}

  /** The entry that was to be replaced has changed meanwhile, or has gone. */
  record Moved() implements PublishOutcome {}

  /**
   * There is no room.
   *
   * @param why which limit was reached, and the setting that moves it
   */
  record Full(String why) implements PublishOutcome {}
}
