/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.store;

/** There is no entry of the incarnation that asks. */
public sealed interface Barred extends RenewOutcome, DeleteOutcome permits NoEntry, PublishOutcome.Superseded {}
