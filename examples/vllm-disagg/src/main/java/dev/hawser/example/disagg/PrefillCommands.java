/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.agent.Peer;
import dev.hawser.agent.config.HawserConfig;

/** What the router asks of the prefill worker. */
final class PrefillCommands extends WorkerCommands<PrefillWorker> {
  @Override
  PrefillWorker start(HawserConfig config, PoolLayout layout, long seed) {
    return new PrefillWorker(config, layout, seed);
  }

  @Override
  Message work(Message command, PrefillWorker worker, Peer decode) {
    String request = command.text("request");
    return switch (command.verb()) {
      case "prefill" ->
        Message.of("prefilled").withBytes("grant", worker.prefill(request, command.integer("tokens"), decode));
      case "release" -> {
        worker.releaseWhenPulled(request);
        yield Message.of("released");
      }
      case "expire" -> {
        worker.expire(request);
        yield Message.of("expired");
      }
      case "push" -> {
        PrefillWorker.Pushed pushed = worker.push(request, command.integer("tokens"), decode, command.numbers("blocks"),
            command.number("counter"));
        yield Message.of("pushed").with("bytes", pushed.bytes()).with("nanos", pushed.nanos())
            .with("tail", pushed.tailNanos());
      }
      default -> throw new DemonstrationException("the prefill worker cannot '" + command.verb() + "'");
    };
  }
}
