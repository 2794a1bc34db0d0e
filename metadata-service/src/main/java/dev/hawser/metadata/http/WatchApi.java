/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import dev.hawser.metadata.store.EventLog;
import dev.hawser.metadata.store.Selector;
import dev.hawser.metadata.store.Store;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Watches of one event loop, as server-sent events or over a WebSocket. */
final class WatchApi {
  /** RFC 6455, 7.4.1: the server met something that it did not expect. */
  private static final short INTERNAL_ERROR = 1011;

  private final Store store;
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
  WatchApi(Store store, WatchHub hub, AtomicInteger watchers, LongAdder resets, int maxWatchers) {
    this.store = store;
    this.log = store.events();
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
    return webSocket ? overWebSocket(exchange, selector, from) : asEvents(exchange, selector, form, from);
  }

  private Future<Void> asEvents(Exchange exchange, Selector selector, WatchForm form, OptionalLong from) {
    HttpServerResponse response = exchange.response();
    Watch watch = new Watch(log, selector, form, new SseSink(response), encoder, resets);
    response.drainHandler(drained -> watch.pump());
    response.exceptionHandler(gone -> leave(watch));
    response.closeHandler(closed -> leave(watch));
    return plausible(from)
        .compose(
            plausible -> Handler.done(
                () -> {
                  response.setChunked(true);
                  response.putHeader(HttpHeaders.CONTENT_TYPE, Names.EVENTS);
                  response.putHeader(HttpHeaders.CACHE_CONTROL, "no-store");
                  begin(watch, from, plausible);
                }));
  }

  private Future<Void> overWebSocket(Exchange exchange, Selector selector, OptionalLong from) {
    return exchange
        .request()
        .toWebSocket()
        .onFailure(refused -> watchers.decrementAndGet())
        .compose(
            socket -> {
              Watch watch =
                  new Watch(log, selector, WatchForm.WEB_SOCKET, new WebSocketSink(socket), encoder, resets);
              socket.drainHandler(drained -> watch.pump());
              socket.exceptionHandler(gone -> leave(watch));
              socket.closeHandler(closed -> leave(watch));
              return plausible(from)
                  .compose(plausible -> Handler.done(() -> begin(watch, from, plausible)))
                  .onFailure(failed -> socket.close(INTERNAL_ERROR, "the store cannot answer now"));
            });
  }

  /** Whether the revision can be one of this store: a lagging log has not seen all of those yet. */
  private Future<Boolean> plausible(OptionalLong from) {
    if (from.isEmpty() || (from.getAsLong() >= 0 && from.getAsLong() <= log.lastRevision())) {
      return Future.succeededFuture(true);
    }
    return store.revision().map(newest -> from.getAsLong() >= 0 && from.getAsLong() <= newest);
  }

  private void begin(Watch watch, OptionalLong from, boolean plausible) {
    hub.add(watch);
    if (!plausible) {
      watch.beginAnew();
    } else if (from.isPresent()) {
      watch.resume(from.getAsLong());
    } else {
      watch.begin();
    }
  }

  private void leave(Watch watch) {
    if (watch.close()) {
      watchers.decrementAndGet();
    }
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
