/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Replicas and members of etcd that are killed, and the proof that nobody saw more of it than a delay. */
@NullMarked
package dev.hawser.metadata.chaos;

import org.jspecify.annotations.NullMarked;
