/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit.conformance;

import dev.hawser.engine.Link;
import dev.hawser.engine.Transfer;
import dev.hawser.engine.spi.DataRequest.Op;
import dev.hawser.memory.Access;

/** Two agents in one process, and the link from the first to the second. */
final class Pair implements AutoCloseable {
  private final LiveAgent initiator;
  private final LiveAgent target;
  private final Link link;

  private Pair(LiveAgent initiator, LiveAgent target) {
    this.initiator = initiator;
    this.target = target;
    this.link = initiator.engine().connect(target.description());
  }

  static Pair start(Fixture fixture) {
    return start(AgentSetup.of(fixture, "initiator"), AgentSetup.of(fixture, "target"));
  }

  static Pair start(AgentSetup initiator, AgentSetup target) {
    LiveAgent to = LiveAgent.start(target);
    LiveAgent from = LiveAgent.start(initiator);
    Pair pair = new Pair(from, to);
    pair.link.awaitUp(Waits.PATIENCE);
    return pair;
  }

  LiveAgent initiator() {
    return initiator;
  }

  LiveAgent target() {
    return target;
  }

  Link link() {
    return link;
  }

  Memory local(long bytes) {
    return initiator.memory(bytes, Access.LOCAL);
  }

  Memory remote(long bytes) {
    return target.memory(bytes, Access.REMOTE_READ_WRITE);
  }

  Transfer prepare(Op op, Copies copies) {
    return link.prepare(op, copies.plan()).timeout(Waits.PATIENCE);
  }

  @Override
  public void close() {
    initiator.close();
    target.close();
  }
}
