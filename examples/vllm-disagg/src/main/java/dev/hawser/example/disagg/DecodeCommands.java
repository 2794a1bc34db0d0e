/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.agent.Peer;
import dev.hawser.agent.TransferException;
import dev.hawser.agent.TransferResult;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.TransferEnd.Cause;

/** What the router asks of the decode worker. */
final class DecodeCommands extends WorkerCommands<DecodeWorker> {
  @Override
  DecodeWorker start(HawserConfig config, PoolLayout layout, long seed) {
    return new DecodeWorker(config, layout, seed);
  }

  @Override
  Message work(Message command, DecodeWorker worker, Peer prefill) {
    return switch (command.verb()) {
      case "pull" -> pull(command, worker);
      case "reserve" -> {
        DecodeWorker.Reserved reserved = worker.reserve(command.text("request"), command.integer("tokens"));
        yield Message.of("reserved").withNumbers("blocks", reserved.table().ids())
            .with("counter", reserved.layers().counter());
      }
      case "await" -> {
        worker.awaitLayers(command.text("request"));
        yield Message.of("arrived");
      }
      case "corrupt-received" -> {
        worker.corruptReceivedBlock();
        yield Message.of("corrupted");
      }
      case "corrupt-free" -> {
        worker.corruptFreeBlock();
        yield Message.of("corrupted");
      }
      default -> throw new DemonstrationException("the decode worker cannot '" + command.verb() + "'");
    };
  }

  private static Message pull(Message command, DecodeWorker worker) {
    try {
      TransferResult result =
          worker.pull(command.text("request"), command.integer("tokens"), command.bytes("grant"));
      return Message.of("pulled").with("bytes", result.bytes()).with("nanos", result.elapsed().toNanos());
    } catch (TransferException e) {
      if (e.failure() == Cause.STALE) {
        return Message.of("stale").with("message", String.valueOf(e.getMessage()));
      }
      throw e;
    }
  }
}
