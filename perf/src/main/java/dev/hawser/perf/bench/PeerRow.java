/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

/**
 * Another program beside ours.
 *
 * @param name the program
 * @param transport what of ours it was compared with
 * @param op the direction of ours
 * @param requestBytes bytes of one request
 * @param blockBytes bytes of one block
 * @param pairs how often both ran, in turn
 * @param metric what the figures are: {@code gbytes_per_s} or {@code latency_us}, the median of each run
 * @param peer the program's figures
 * @param ours ours, taken between them
 * @param ratio ours by theirs, pair by pair
 */
public record PeerRow(String name, String transport, String op, long requestBytes, long blockBytes, int pairs,
    String metric, Spread peer, Spread ours, Spread ratio) {}
