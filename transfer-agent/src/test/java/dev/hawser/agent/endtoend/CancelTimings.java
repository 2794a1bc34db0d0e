/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.endtoend;

import dev.hawser.agent.Agent;
import dev.hawser.agent.Blocks;
import dev.hawser.agent.Operation;
import dev.hawser.agent.Peer;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import dev.hawser.memory.BlockList;
import dev.hawser.memory.Region;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;

/**
 * Prints how long a cancelled WRITE and a cancelled READ of 256 MiB over loopback tcp take from the cancel to their end, and
 * to the target's word that nothing lands any more; and how long until a READ of 8 bytes that is posted then is done: a path
 * that has to be opened again, or still carries what nobody wants, holds it up. Run by hand; what is promised is asserted by
 * the conformance suite.
 */
final class CancelTimings {
  private static final int ROUNDS = 40;
  private static final long BYTES = 256L << 20;
  private static final Duration LONG = Duration.ofSeconds(20);

  private CancelTimings() {}

  public static void main(String... arguments) {
    try (Agent here = start("here"); Agent there = start("there")) {
      Region ours = here.allocate("pool", BYTES);
      there.allocate("pool", BYTES);
      Peer peer = here.addPeer(there.metadata());
      peer.awaitConnected(LONG);
      BlockList theirs = peer.region("pool").blocks();
      PreparedTransfer next = here.prepare(Operation.READ, BlockList.of(ours.address(), 8), peer,
          BlockList.of(theirs.address(0), 8));
      for (Operation operation : Operation.values()) {
        PreparedTransfer transfer = here.prepare(operation, Blocks.of(ours), peer, theirs);
        transfer.postAndAwait(LONG);
        measure(here, transfer, next);
      }
    }
  }

  private static void measure(Agent here, PreparedTransfer transfer, PreparedTransfer next) {
    double[] ended = new double[ROUNDS];
    double[] settled = new double[ROUNDS];
    double[] done = new double[ROUNDS];
    int cancelled = 0;
    for (int i = 0; i < ROUNDS; i++) {
      transfer.post();
      while (transfer.acknowledgedBytes() < BYTES / 8) {
        transfer.poll();
      }
      long began = System.nanoTime();
      transfer.cancel();
      while (!transfer.poll() && System.nanoTime() - began < LONG.toNanos()) {
        Thread.onSpinWait();
      }
      ended[i] = (System.nanoTime() - began) / 1e6;
      while (transfer.remoteSettled() == RemoteState.PENDING) {
        here.poll();
      }
      settled[i] = (System.nanoTime() - began) / 1e6;
      cancelled += transfer.end() instanceof TransferEnd.Cancelled ? 1 : 0;
      next.postAndAwait(LONG);
      done[i] = (System.nanoTime() - began) / 1e6;
    }
    System.out.printf("%s: %d of %d ended CANCELLED; ms from cancel to the end: %s; to the target's word: %s;"
        + " to the end of what was posted next: %s%n",
        transfer.operation(), cancelled, ROUNDS, spread(ended), spread(settled), spread(done));
  }

  private static Agent start(String name) {
    return Agent.builder(HawserConfig.builder().environment(Map.of()).name(name).transports("tcp").build()).start();
  }

  private static String spread(double[] all) {
    Arrays.sort(all);
    return "p50 %.1f, max %.1f".formatted(all[all.length / 2], all[all.length - 1]);
  }
}
