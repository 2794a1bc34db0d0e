/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The store on an etcd in a container. */
@NullMarked
package dev.hawser.metadata.containers;

import org.jspecify.annotations.NullMarked;
