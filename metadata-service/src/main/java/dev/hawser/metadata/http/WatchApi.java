/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import dev.hawser.metadata.store.EventLog;
import dev.hawser.metadata.store.Selector;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.ServerWebSocket;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Watches of one event loop, as server-sent events or over a WebSocket. */
final class WatchApi {
  private final EventLog log;
  private final WatchHub hub;
  private final WatchEncoder encoder = new WatchEncoder();
  private final AtomicInteger watchers;
  private final LongAdder resets;
  private final int maxWatchers;

  /**
   * @param watchers counts those of all loops
   * @param resets likewise, of watches that lost something
   */
  WatchApi(EventLog log, WatchHub hub, AtomicInteger watchers, LongAdder resets, int maxWatchers) {
    this.log = log;
    this.hub = hub;
    this.watchers = watchers;
    this.resets = resets;
    this.maxWatchers = maxWatchers;
  }

  List<Route> routes() {
    return List.of(Route.get("/v1/watch", Access.READ, this::watch));
  }

  private Future<Void> watch(Exchange exchange, Buffer body) {
    boolean webSocket = exchange.request().canUpgradeToWebSocket();
    if (!webSocket) {
      exchange.requireAccepts(Names.EVENTS);
    }
    Selector selector = exchange.selector();
    WatchForm form = webSocket ? WatchForm.WEB_SOCKET : form(exchange);
    String revision = exchange.query("revision");
    if (revision == null) {
      revision = exchange.header("Last-Event-ID");
    }
    OptionalLong from =
        revision == null ? OptionalLong.empty() : OptionalLong.of(Numbers.unsigned("revision", revision));
    if (watchers.incrementAndGet() > maxWatchers) {
      watchers.decrementAndGet();
      throw Problem.unavailable(
          "too-many-watchers",
          "There are too many watchers",
          "There are " + maxWatchers + " watches already; raise --max-watchers or ask another replica")
          .exception();
    }
    if (!webSocket) {
      open(exchange.response(), selector, form, from);
      return Future.succeededFuture();
    }
    return exchange
        .request()
        .toWebSocket()
        .onFailure(refused -> watchers.decrementAndGet())
        .onSuccess(socket -> open(socket, selector, form, from))
        .mapEmpty();
  }

  private void open(HttpServerResponse response, Selector selector, WatchForm form, OptionalLong from) {
    response.setChunked(true);
    response.putHeader(HttpHeaders.CONTENT_TYPE, Names.EVENTS);
    response.putHeader(HttpHeaders.CACHE_CONTROL, "no-store");
    Watch watch = new Watch(log, selector, form, new SseSink(response), encoder, resets);
    response.drainHandler(drained -> watch.pump());
    response.exceptionHandler(gone -> hub.remove(watch));
    response.closeHandler(closed -> leave(watch));
    begin(watch, from);
  }

  private void open(ServerWebSocket socket, Selector selector, WatchForm form, OptionalLong from) {
    Watch watch = new Watch(log, selector, form, new WebSocketSink(socket), encoder, resets);
    socket.drainHandler(drained -> watch.pump());
    socket.exceptionHandler(gone -> hub.remove(watch));
    socket.closeHandler(closed -> leave(watch));
    begin(watch, from);
  }

  private void begin(Watch watch, OptionalLong from) {
    hub.add(watch);
    if (from.isPresent()) {
      watch.resume(from.getAsLong());
    } else {
      watch.begin();
    }
  }

  private void leave(Watch watch) {
    watchers.decrementAndGet();
    hub.remove(watch);
  }

  private static WatchForm form(Exchange exchange) {
    String form = exchange.query("form");
    if (form == null || form.equals("json")) {
      return WatchForm.SSE;
    }
    if (form.equals("plain")) {
      return WatchForm.SSE_PLAIN;
    }
    throw Problem.badRequest("form is " + shown(form) + "; give json or plain")
        .exception();
  }
}
