/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.metadata;

/**
 * Who is recorded under a name, without the blob.
 *
 * @param epoch its incarnation
 * @param address its control address; empty if it told none
 */
public record MetadataHead(long epoch, String address) {}
