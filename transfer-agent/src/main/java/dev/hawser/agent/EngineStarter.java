/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent;

import dev.hawser.engine.Engine;
import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.InboundHandler;
import dev.hawser.memory.MemoryRegistry;

/** Starts engines: {@link Engine#start} outside of tests. */
interface EngineStarter {
  Engine start(EngineConfig config, MemoryRegistry registry, InboundHandler inbound);
}
