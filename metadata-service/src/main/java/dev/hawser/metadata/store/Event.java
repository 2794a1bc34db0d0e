/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/**
 * Something that watchers are told.
 *
 * @param revision orders all events of a service
 * @param kind what happened
 * @param name to which agent
 * @param epoch to which incarnation
 * @param address its control address, or empty
 * @param labels those it has, or had
 */
public record Event(long revision, Kind kind, String name, long epoch, String address, Labels labels) {
  /** What happened to an entry. */
  public enum Kind {
    /** Published, changed, or taken over by a newer incarnation. */
    PUT,
    /** Deleted by its agent. */
    DELETE,
    /** Its presence ran out. */
    EXPIRE
  }

  static Event of(Kind kind, long revision, Publication publication) {
    return new Event(
        revision, kind, publication.name(), publication.epoch(), publication.address(), publication.labels());
  }
}
