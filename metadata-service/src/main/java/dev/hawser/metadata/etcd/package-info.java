/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Entries in etcd, for a service on more than one machine: any number of replicas serve them, and none keeps anything
 * that it could not read again.
 *
 * <p>It must not know HTTP.
 */
@NullMarked
package dev.hawser.metadata.etcd;

import org.jspecify.annotations.NullMarked;
