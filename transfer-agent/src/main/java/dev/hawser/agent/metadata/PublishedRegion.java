/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import dev.hawser.engine.spi.RemoteRegion;
import java.util.Objects;

/**
 * A region as its owner tells peers of it.
 *
 * @param name its name among the owner's regions; empty if it has none
 * @param region where it is, what is allowed, and the keys
 */
public record PublishedRegion(String name, RemoteRegion region) {
  public PublishedRegion {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(region, "region");
  }
}
