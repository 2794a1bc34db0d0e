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
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Watches of one event loop, as server-sent events. */
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
    exchange.requireAccepts(Names.EVENTS);
    Selector selector = exchange.selector();
    WatchForm form = form(exchange);
    String revision = exchange.query("revision");
    if (revision == null) {
      revision = exchange.header("Last-Event-ID");
    }
    long from = revision == null ? 0 : Numbers.unsigned("revision", revision);
    if (watchers.incrementAndGet() > maxWatchers) {
      watchers.decrementAndGet();
      throw Problem.unavailable(
          "too-many-watchers",
          "There are too many watchers",
          "There are " + maxWatchers + " watches already; raise --max-watchers or ask another replica")
          .exception();
    }
    HttpServerResponse response = exchange.response();
    response.setChunked(true);
    response.putHeader(HttpHeaders.CONTENT_TYPE, Names.EVENTS);
    response.putHeader(HttpHeaders.CACHE_CONTROL, "no-store");
    Watch watch = new Watch(log, selector, form, new SseSink(response), encoder, resets);
    response.drainHandler(drained -> watch.pump());
    response.exceptionHandler(gone -> hub.remove(watch));
    response.closeHandler(
        closed -> {
          watchers.decrementAndGet();
          hub.remove(watch);
        });
    hub.add(watch);
    if (revision == null) {
      watch.begin();
    } else {
      watch.resume(from);
    }
    return Future.succeededFuture();
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
