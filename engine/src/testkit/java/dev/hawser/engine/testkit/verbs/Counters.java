/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.verbs;

/**
 * What a device was asked to do since it was made.
 *
 * @param doorbells calls of post_send that posted something
 * @param workRequests that they posted
 * @param signalled of these, those that asked for a completion
 * @param inlined of these, those whose data travelled in the request
 * @param receives that were posted
 * @param polls of completion queues
 * @param completions that these returned
 * @param notifications how often a completion queue was armed
 * @param registrations of memory
 * @param registered memory regions that are registered now
 * @param bytesWritten payload of RDMA WRITE that arrived
 * @param bytesRead payload of RDMA READ that arrived
 */
public record Counters(
    long doorbells,
    long workRequests,
    long signalled,
    long inlined,
    long receives,
    long polls,
    long completions,
    long notifications,
    long registrations,
    long registered,
    long bytesWritten,
    long bytesRead) {}
