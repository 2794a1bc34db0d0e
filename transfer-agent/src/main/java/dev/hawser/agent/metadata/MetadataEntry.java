/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

/**
 * An entry of the metadata service. What the service says of itself is not signed: {@code blob} is, and it must agree.
 *
 * @param name the agent's name
 * @param epoch its incarnation
 * @param revision the service's, for this entry
 * @param address its control address; empty if it told none
 * @param blob the agent's metadata
 */
@SuppressWarnings("ArrayRecordComponent") // the blob is bytes; entries are never compared
public record MetadataEntry(String name, long epoch, long revision, String address, byte[] blob) {}
