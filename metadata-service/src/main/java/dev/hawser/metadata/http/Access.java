/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

/** Whom a route serves. */
enum Access {
  /** Anyone: it tells nothing about agents. */
  OPEN,
  /** Callers that may read. */
  READ,
  /** The owner of the agent in the path. */
  OWNER,
  /** Callers that may publish; the handler looks at each name. */
  PUBLISHER
}
