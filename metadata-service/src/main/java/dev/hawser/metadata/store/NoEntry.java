/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/** There is no entry of this incarnation or of a newer one. */
public record NoEntry() implements Barred {}
