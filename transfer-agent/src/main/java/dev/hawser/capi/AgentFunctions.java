/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import dev.hawser.agent.Agent;
import dev.hawser.agent.AwaitTimeoutException;
import dev.hawser.agent.CounterFuture;
import dev.hawser.agent.Grant;
import dev.hawser.agent.Notification;
import dev.hawser.agent.PreparedTransfer;
import dev.hawser.agent.config.HawserConfig;
import dev.hawser.engine.text.Json;
import dev.hawser.memory.MemoryRegistry;
import dev.hawser.memory.Region;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The functions about agents, notifications and counters. */
@SuppressWarnings("unused") // all by method handles of the table
final class AgentFunctions {
  private final Handles handles;
  private final PeerFunctions peers;
  private final Supplier<MemoryRegistry> registries;

  AgentFunctions(Handles handles, PeerFunctions peers, Supplier<MemoryRegistry> registries) {
    this.handles = handles;
    this.peers = peers;
    this.registries = registries;
  }

  private HeldAgent held(long agent) {
    return handles.get(agent, HeldAgent.class, "agent");
  }

  private Agent agent(long agent) {
    return held(agent).agent();
  }

  long start(long name, long settings, long out) {
    Foreign.notNull(out, "the place for the handle");
    HawserConfig config = Settings.of(Foreign.text(name, "name"), Foreign.textOrNull(settings, "settings"));
    HeldAgent held = new HeldAgent(Agent.builder(config).registry(registries).start(), new Ended());
    Foreign.putHandle(out, handles.add(held, held));
    return 0;
  }

  long close(long agent) {
    HeldAgent held = held(agent);
    handles.removeAllOf(held);
    peers.forget();
    held.agent().close();
    return 0;
  }

  long describe(long agent, long json, long capacity) {
    Agent described = agent(agent);
    String facts = Json.object()
        .text("name", described.name())
        .unsigned("epoch", described.epoch())
        .texts("addresses", described.addresses())
        .texts("transports", described.transports())
        .texts("absentTransports", described.absentTransports())
        .items("settings", described.config().entries(), entry -> Json.object()
            .text("key", entry.setting().key()).text("value", entry.value()).text("origin", entry.origin().toString())
            .end())
        .texts("peers", described.peers())
        .end();
    return Foreign.textOut(facts, json, capacity);
  }

  long metadata(long agent, long withConnection, long regions, long count, long blob, long capacity) {
    if (regions == 0) {
      if (withConnection == 0) {
        throw new IllegalArgumentException(
            "regions: NULL is for all, with the connection; name those to tell of without it");
      }
      return Foreign.copyOut(agent(agent).metadata(), blob, capacity);
    }
    long[] chosen = Foreign.longs(regions, count, "regions");
    Region[] some = new Region[chosen.length];
    for (int i = 0; i < some.length; i++) {
      some[i] = handles.get(chosen[i], Region.class, "regions[" + i + "]");
    }
    return Foreign.copyOut(agent(agent).metadata(withConnection != 0, some), blob, capacity);
  }

  long poll(long agent) {
    return agent(agent).poll();
  }

  long awaitPublished(long agent, long timeout) {
    return agent(agent).awaitPublished(Duration.ofNanos(timeout)) ? 1 : 0;
  }

  long signalTo(long agent, long fd) {
    if (fd != (int) fd) {
      throw new IllegalArgumentException(
          "fd: " + fd + " is no file descriptor; give an eventfd or a pipe, or -1 for none");
    }
    held(agent).ended().signalTo((int) fd);
    return 0;
  }

  long takeEnded(long agent, long buffer, long capacity) {
    return held(agent).ended().take(buffer, capacity);
  }

  /** For what needs no other end than being forgotten. */
  long release(long handle) {
    Object value = handles.get(handle, Object.class, "handle");
    switch (value) {
      case HeldAgent _ -> throw new IllegalArgumentException("handle: an agent is ended by agent_close");
      case Region _ -> throw new IllegalArgumentException("handle: a region is ended by region_close");
      case Grant _ -> throw new IllegalArgumentException("handle: a grant is ended by grant_revoke");
      case PreparedTransfer transfer when transfer.id() != 0 && transfer.end() == null ->
        throw new IllegalStateException(
            "handle: " + transfer + " is under way; wait for its end, or cancel it and wait");
      case CounterFuture expectation -> expectation.cancel();
      default -> {}
    }
    handles.remove(handle);
    return 0;
  }

  // ------------------------------------------------------------------------------------------- notifications

  long nextNotification(long agent, long timeout, long out) {
    Structs.at(out, Structs.Notification.BYTES, "hawser_notification");
    @Nullable
    Notification notification = agent(agent).pollNotification();
    if (notification == null && timeout > 0) {
      try {
        notification = agent(agent).awaitNotification(Duration.ofNanos(timeout));
      } catch (AwaitTimeoutException e) {
        return 0;
      }
    }
    if (notification == null) {
      return 0;
    }
    byte[] peer = notification.peer().getBytes(StandardCharsets.UTF_8);
    String requestId = notification.requestId();
    byte[] request = requestId == null ? new byte[0] : requestId.getBytes(StandardCharsets.UTF_8);
    byte[] payload = notification.payload();
    Foreign.putInt(out + Structs.Notification.PEER_BYTES, Foreign.fixedText(peer, out + Structs.Notification.PEER,
        Structs.Notification.REQUEST_ID - Structs.Notification.PEER));
    Foreign.putInt(out + Structs.Notification.REQUEST_ID_BYTES,
        Foreign.fixedText(request, out + Structs.Notification.REQUEST_ID,
            Structs.Notification.PAYLOAD - Structs.Notification.REQUEST_ID));
    Foreign.putInt(out + Structs.Notification.PAYLOAD_BYTES, payload.length);
    Foreign.putLong(out + Structs.Notification.PEER_EPOCH, notification.peerEpoch());
    Foreign.putLong(out + Structs.Notification.TRANSFER, notification.transfer());
    Foreign.copyOut(payload, out + Structs.Notification.PAYLOAD,
        Structs.Notification.BYTES - Structs.Notification.PAYLOAD);
    return 1;
  }

  long expect(long agent, long counter, long arrivals, long out) {
    Foreign.notNull(out, "the place for the handle");
    HeldAgent held = held(agent);
    Foreign.putHandle(out, handles.add(held.agent().expect(counter, arrivals), held));
    return 0;
  }

  private CounterFuture expectation(long expectation) {
    return handles.get(expectation, CounterFuture.class, "expectation");
  }

  long pollExpectation(long expectation) {
    CounterFuture future = expectation(expectation);
    if (!future.poll()) {
      return 0;
    }
    future.await(Duration.ZERO); // tells of a failure
    return 1;
  }

  long waitExpectation(long expectation, long timeout) {
    expectation(expectation).await(Duration.ofNanos(timeout));
    return 0;
  }

  long cancelExpectation(long expectation) {
    expectation(expectation).cancel();
    return 0;
  }

  long watchExpectation(long expectation) {
    Ended ended = handles.ownerOf(expectation, HeldAgent.class).ended();
    expectation(expectation).whenComplete((arrivals, failure) -> ended.add(expectation));
    return 0;
  }
}
