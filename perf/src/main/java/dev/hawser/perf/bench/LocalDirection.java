/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.bench;

import dev.hawser.agent.Agent;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Device;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A direction whose initiator is this process. The target fills and checks its memory itself, when it is asked. */
final class LocalDirection implements Direction {
  /** Of filling or checking any window that fits into memory. */
  private static final Duration CONTROL_TIMEOUT = Duration.ofMinutes(2);

  private final Agent agent;
  private final Peer peer;
  private final ControlChannel control;
  private final BenchMemory memory;
  private final BlockSpace remote;
  private final Pattern pattern;
  private final long seed;

  private @Nullable Row row;

  /** The target's memory, as it was opened. */
  record BlockSpace(long lease, long address, Device device) {}

  /** What belongs to one row. */
  private record Row(RowPlan plan, BlockOrder order, List<Poster> posters) {}

  /**
   * A direction.
   *
   * @param agent posts the requests
   * @param peer the target, as that agent knows it
   * @param control on which the target answers
   * @param memory ours
   * @param remote the target's
   */
  LocalDirection(Agent agent, Peer peer, ControlChannel control, BenchMemory memory, BlockSpace remote, long seed) {
    this.agent = agent;
    this.peer = peer;
    this.control = control;
    this.memory = memory;
    this.remote = remote;
    this.seed = seed;
    this.pattern = new Pattern(seed);
  }

  @Override
  public String name() {
    return agent.name() + " -> " + peer.name();
  }

  @Override
  public void prepare(RowPlan plan) {
    row = null; // The transfers of the last row may go while those of this one come.
    BlockOrder order = new BlockOrder(plan, seed);
    long blockBytes = plan.shape().blockBytes();
    BlockList here =
        BlockList.strided(memory.address(), blockBytes, blockBytes, order.blocks(), memory.region().device());
    BlockList there =
        BlockList.strided(remote.address(), blockBytes, blockBytes, order.blocks(), remote.device());
    Operation operation = plan.op() == Op.READ ? Operation.READ : Operation.WRITE;
    long interval =
        plan.requestsPerSecond() == 0 ? 0 : Math.round(1e9 * plan.threads() / plan.requestsPerSecond());
    List<Poster> posters = new ArrayList<>();
    for (int thread = 0; thread < plan.threads(); thread++) {
      PreparedTransfer[] transfers = new PreparedTransfer[plan.slotsPerThread()];
      for (int i = 0; i < transfers.length; i++) {
        int slot = thread * transfers.length + i;
        transfers[i] = agent.prepare(operation, here, order.localOf(slot), peer, there, order.remoteOf(slot))
            .timeout(plan.timeout());
      }
      posters.add(new Poster(transfers, plan.depth(), interval, plan.completion(), plan.timeout().plusSeconds(1)));
    }
    row = new Row(plan, order, posters);
  }

  @Override
  public void arm(long generation) {
    Row now = row();
    if (now.plan().op() == Op.WRITE) {
      fillLocal(now, generation);
    }
    control.call(peer.name(), lease("arm", now.plan(), generation), CONTROL_TIMEOUT);
  }

  private Message lease(String verb, RowPlan plan, long generation) {
    return new Message(verb).put("lease", remote.lease()).put("op", plan.op().name())
        .put("bytes", plan.windowBytes()).put("generation", generation).put("verify", plan.verify().name());
  }

  /** Every block gets what its place at the target is to hold. */
  private void fillLocal(Row now, long generation) {
    long blockBytes = now.plan().shape().blockBytes();
    if (now.order().isPlain()) {
      pattern.fill(memory.segment().asSlice(0, now.plan().windowBytes()), 0, generation);
    } else {
      for (int i = 0; i < now.order().blocks(); i++) {
        pattern.fill(block(now.order().local(i), blockBytes), now.order().remote(i) * blockBytes, generation);
      }
    }
    memory.store(now.plan().windowBytes());
  }

  private MemorySegment block(int index, long blockBytes) {
    return memory.segment().asSlice(index * blockBytes, blockBytes);
  }

  @Override
  public Round go(long nanos) {
    List<Poster> posters = row().posters();
    if (posters.size() == 1) {
      posters.getFirst().run(nanos);
    } else {
      goTogether(posters, nanos);
    }
    long requests = 0;
    long started = posters.getFirst().started();
    long ended = posters.getFirst().ended();
    String failure = null;
    for (Poster poster : posters) {
      requests += poster.requests();
      started = poster.started() - started < 0 ? poster.started() : started;
      ended = poster.ended() - ended > 0 ? poster.ended() : ended;
      failure = failure == null ? poster.failure() : failure;
    }
    return new Round(requests, ended - started, failure);
  }

  private static void goTogether(List<Poster> posters, long nanos) {
    List<Thread> threads = new ArrayList<>();
    for (Poster poster : posters) {
      threads.add(Thread.ofPlatform().name("bench-post-" + threads.size()).unstarted(() -> poster.run(nanos)));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      try {
        // Each of its requests has a deadline, and so has the round.
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new BenchException("interrupted in the middle of a round", e);
      }
    }
  }

  @Override
  public @Nullable String check(long generation) {
    Row now = row();
    RowPlan plan = now.plan();
    if (plan.verify() == Verify.NONE) {
      return null;
    }
    if (plan.op() == Op.READ) {
      return checkLocal(now, generation);
    }
    return control.call(peer.name(), lease("check", plan, generation), CONTROL_TIMEOUT).textOrNull("wrong");
  }

  private @Nullable String checkLocal(Row now, long generation) {
    RowPlan plan = now.plan();
    memory.load(plan.windowBytes());
    if (now.order().isPlain()) {
      MemorySegment window = memory.segment().asSlice(0, plan.windowBytes());
      long wrong = Sampled.firstWrong(pattern, window, generation, plan.verify());
      return wrong < 0 ? null : pattern.explain(window, wrong, generation).explanation();
    }
    long blockBytes = plan.shape().blockBytes();
    int blocks = now.order().blocks();
    for (int i = 0; i < blocks; i++) {
      if (plan.verify() == Verify.FULL || Sampled.isChosen(i, blocks, generation)) {
        MemorySegment block = block(now.order().local(i), blockBytes);
        long position = now.order().remote(i) * blockBytes;
        long wrong = pattern.firstWrong(block, position, generation);
        if (wrong >= 0) {
          return "block " + i + ", read from byte " + position + " of the target's memory: "
              + pattern.explainPiece(block, position, plan.windowBytes(), wrong, generation).explanation();
        }
      }
    }
    return null;
  }

  @Override
  public void forget() {
    row().posters().forEach(poster -> poster.timings().clear());
  }

  @Override
  public Timings timings() {
    Timings all = Timings.empty();
    row().posters().forEach(poster -> all.add(poster.timings()));
    return all;
  }

  @Override
  public RailBytes railBytes() {
    return RailBytes.of(peer.paths());
  }

  private Row row() {
    Row now = row;
    if (now == null) {
      throw new IllegalStateException("no row was prepared for " + name());
    }
    return now;
  }

  @Override
  public void close() {
    row = null;
    try {
      control.call(peer.name(), new Message("close").put("lease", remote.lease()), CONTROL_TIMEOUT);
    } finally {
      memory.close();
    }
  }
}
