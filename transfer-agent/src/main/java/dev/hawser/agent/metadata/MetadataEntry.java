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
 * @param offset where {@code blob} begins in what the agent published: 0, or the length of the beginning that the asker
 *     knows
 * @param blob the agent's metadata from there on: one blob behind another
 */
@SuppressWarnings("ArrayRecordComponent") // the blob is bytes; entries are never compared
public record MetadataEntry(String name, long epoch, long revision, String address, int offset, byte[] blob) {}
