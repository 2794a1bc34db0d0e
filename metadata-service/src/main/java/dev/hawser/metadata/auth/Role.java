/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.auth;

/** What a caller may do; each role may do what those before it may. */
public enum Role {
  /** Fetch, list, watch, scrape. */
  READ,
  /** Publish, renew and delete agents whose names the caller owns. */
  PUBLISH,
  /** The same for every name. */
  ADMIN
}
