/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The proxy in front of prefill and decode engines: OpenAI-style HTTP in, two phases out.
 *
 * <p>It carries {@code kv_transfer_params} between the phases and never a byte of a KV cache; it must not know the agent.
 */
@NullMarked
package dev.hawser.example.disagg.proxy;

import org.jspecify.annotations.NullMarked;
