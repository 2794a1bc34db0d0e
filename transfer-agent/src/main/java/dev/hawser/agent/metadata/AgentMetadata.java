/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What an agent tells about itself.
 *
 * @param name the agent's name
 * @param epoch its incarnation
 * @param revision grows with every change of the regions, from 1, within the epoch
 * @param complete whether {@code regions} are all that it has; otherwise they are some, to be merged
 * @param connection whether {@code addresses} and {@code transports} are told
 * @param host its host's name, for messages
 * @param pid its process, for messages
 * @param addresses where its bootstrap listens, numeric {@code host:port}
 * @param transports by transport name, that transport's description
 * @param regions its regions, or some of them
 */
public record AgentMetadata(String name, long epoch, long revision, boolean complete, boolean connection, String host,
    long pid, List<String> addresses, Map<String, byte[]> transports, List<PublishedRegion> regions) {
  public AgentMetadata {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(host, "host");
    addresses = List.copyOf(addresses);
    transports = Map.copyOf(transports);
    regions = List.copyOf(regions);
  }
}
