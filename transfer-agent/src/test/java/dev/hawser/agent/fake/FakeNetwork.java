/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.fake;

import dev.hawser.engine.EngineConfig;
import dev.hawser.engine.InboundHandler;
import dev.hawser.memory.MemoryRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Fake engines of one process that reach each other by address, and their memory directly. */
public final class FakeNetwork {
  private final Map<String, FakeEngine> byAddress = new ConcurrentHashMap<>();
  private final AtomicInteger nextPort = new AtomicInteger(1);
  private final List<FakeTransfer> held = new ArrayList<>();
  private boolean holding;

  /** A network without engines. */
  public FakeNetwork() {}

  /** Starts an engine; its signature is that of {@link dev.hawser.engine.Engine#start}. */
  public FakeEngine start(EngineConfig config, MemoryRegistry registry, InboundHandler inbound) {
    String address = "127.0.0.1:" + nextPort.getAndIncrement();
    FakeEngine engine = new FakeEngine(this, config, registry, inbound, address);
    byAddress.put(address, engine);
    return engine;
  }

  @Nullable
  FakeEngine at(String address) {
    return byAddress.get(address);
  }

  /** The engine of this agent. */
  public FakeEngine engine(String name) {
    return byAddress.values().stream().filter(engine -> engine.name().equals(name)).findFirst().orElseThrow();
  }

  /** Takes an engine off the network without a word, as if its process had been killed. */
  public void kill(FakeEngine engine) {
    byAddress.remove(engine.address());
  }

  /** From now on posts do not end by themselves. */
  public synchronized void hold() {
    holding = true;
  }

  synchronized boolean hold(FakeTransfer transfer) {
    if (holding) {
      held.add(transfer);
    }
    return holding;
  }

  synchronized boolean unhold(FakeTransfer transfer) {
    return held.remove(transfer);
  }

  /** Executes what was held, on this thread, and holds nothing more. */
  public void release() {
    List<FakeTransfer> released;
    synchronized (this) {
      holding = false;
      released = List.copyOf(held);
      held.clear();
    }
    released.forEach(FakeTransfer::execute);
  }
}
