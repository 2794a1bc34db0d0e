/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg;

import dev.hawser.agent.Peer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.Link;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Does what the router asks of a worker: each message gets one reply. Not thread-safe. */
abstract class WorkerCommands<W extends Worker> implements AutoCloseable {
  private @Nullable W worker;
  private @Nullable Peer other;

  /** Answers one message. */
  final Message answer(Message command) {
    return switch (command.verb()) {
      case "start" -> started(command);
      case "meet" -> met(command);
      case "audit" -> audited();
      default -> work(command, worker(), other());
    };
  }

  abstract W start(HawserConfig config, PoolLayout layout, long seed);

  /** Answers what only this kind of worker is asked. */
  abstract Message work(Message command, W present, Peer peer);

  private Message started(Message command) {
    // Three JVMs start at once here, perhaps on two cores: the service gets more time for its first answers.
    HawserConfig.Builder config = HawserConfig.builder().name(command.text("name")).metadataTimeout(Worker.DEADLINE);
    if (command.has("metadata")) {
      config.metadata(command.text("metadata"));
    }
    if (command.has("transport")) {
      config.transports(command.text("transport"));
    }
    PoolLayout layout = new PoolLayout(KvShape.llama(command.integer("layers")), command.integer("blocks"));
    W started = start(config.build(), layout, command.number("seed"));
    worker = started;
    return Message.of("started").withBytes("metadata", started.agent().metadata());
  }

  private Message met(Message command) {
    Peer peer = command.has("metadata") ? worker().meet(command.bytes("metadata"))
        : worker().meet(command.text("peer"));
    other = peer;
    return Message.of("met").with("transports",
        peer.paths().stream().filter(Link.PathReport::up).map(Link.PathReport::transport).distinct()
            .collect(Collectors.joining("+")));
  }

  private Message audited() {
    PoolAudit audit = PoolAudit.of(worker().pool());
    Message reply = Message.of("audited").with("owned", audit.owned()).with("others", audit.others())
        .with("damaged", audit.damaged());
    return audit.firstDamage() == null ? reply : reply.with("first", audit.firstDamage());
  }

  private W worker() {
    W present = worker;
    if (present == null) {
      throw new DemonstrationException("this worker was not started");
    }
    return present;
  }

  private Peer other() {
    Peer present = other;
    if (present == null) {
      throw new DemonstrationException("this worker has not met the other one");
    }
    return present;
  }

  @Override
  public void close() {
    W present = worker;
    if (present != null) {
      present.close();
    }
  }
}
