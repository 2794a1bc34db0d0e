/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The shapes of KV caches: which blocks a model keeps for so many tokens, from its Hugging Face configuration.
 *
 * <p>It must not know transfers or agents. What it does not know it refuses, by the name of the field.
 */
@NullMarked
package dev.hawser.perf.kv;

import org.jspecify.annotations.NullMarked;
