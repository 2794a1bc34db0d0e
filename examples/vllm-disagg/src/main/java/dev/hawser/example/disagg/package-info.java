/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A disaggregated prefill/decode deployment on Hawser.
 *
 * <p>It uses what a user may use: the agent and the metadata service, nothing below them.
 */
@NullMarked
package dev.hawser.example.disagg;

import org.jspecify.annotations.NullMarked;
