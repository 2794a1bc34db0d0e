/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import static dev.hawser.metadata.store.Envelopes.shown;

import dev.hawser.metadata.store.InvalidEnvelopeException;
import dev.hawser.metadata.store.MonotonicClock;
import dev.hawser.metadata.store.Store;
import dev.hawser.metadata.store.StoreException;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.vertx.core.Context;
import io.vertx.core.Deployable;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClosedException;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The service's HTTP server on one event loop. */
public final class Front implements Deployable {
  private static final System.Logger LOG = System.getLogger(Front.class.getName());
  private static final int MAX_HEADERS = 16 * 1024;

  /** What a watcher says over a WebSocket is not listened to. */
  private static final int MAX_FROM_WATCHER = 4 * 1024;

  private static final int MAX_REQUEST_LINE = 32 * 1024;

  /** How late a connection that takes too long may be noticed, milliseconds. */
  private static final long SWEEP_MILLIS = 500;

  private final Store store;
  private final HttpSettings settings;
  private final FrontState shared;
  private @Nullable Listening listening;

  /**
   * @param store asked by every request
   * @param settings bounds
   * @param shared by the fronts of all event loops
   */
  public Front(Store store, HttpSettings settings, FrontState shared) {
    this.store = store;
    this.settings = settings;
    this.shared = shared;
  }

  /** What exists while the server listens. */
  private record Listening(HttpServer server, Routes routes, WatchHub hub, MeetingHub meetings,
      Connections connections) {}

  @Override
  public Future<?> deploy(Context context) {
    Vertx vertx = context.owner();
    WatchHub hub = new WatchHub(context, store.events());
    MeetingHub meetings = new MeetingHub(context, store.meetings());
    Connections connections = new Connections(MonotonicClock.SYSTEM, settings, shared.connections());
    Routes routes = Api.routes(vertx, store, settings, shared, hub, meetings);
    HttpServer server =
        vertx
            .createHttpServer(options())
            .connectionHandler(connections::opened)
            .invalidRequestHandler(this::refuse)
            .requestHandler(request -> serve(request, routes, connections));
    listening = new Listening(server, routes, hub, meetings, connections);
    vertx.setPeriodic(SWEEP_MILLIS, tick -> connections.sweep());
    vertx.setPeriodic(settings.keepaliveMillis(), tick -> hub.keepAlive());
    return server.listen().onSuccess(shared::bound);
  }

  @Override
  public Future<?> undeploy(Context context) {
    Listening now = listening;
    if (now == null) {
      return Future.succeededFuture();
    }
    now.hub().close();
    now.meetings().close();
    return now.server().shutdown(shared.graceMillis(), TimeUnit.MILLISECONDS);
  }

  private HttpServerOptions options() {
    HttpServerOptions options = new HttpServerOptions()
        .setHost(settings.host())
        .setPort(settings.port())
        .setMaxHeaderSize(MAX_HEADERS)
        .setMaxInitialLineLength(MAX_REQUEST_LINE)
        .setHttp2ClearTextEnabled(false)
        .setTcpNoDelay(true)
        .setMaxWebSocketFrameSize(MAX_FROM_WATCHER)
        .setMaxWebSocketMessageSize(MAX_FROM_WATCHER)
        .setIdleTimeoutUnit(TimeUnit.MILLISECONDS)
        .setIdleTimeout(Math.toIntExact(Math.max(settings.idleMillis(), 4 * settings.keepaliveMillis())));
    if (settings.tls() != null) {
      settings.tls().apply(options);
    }
    return options;
  }

  private void serve(HttpServerRequest request, Routes routes, Connections connections) {
    connections.began(request.connection());
    String requestId = shared.requestId(request.getHeader(Names.REQUEST_ID));
    request.response().putHeader(Names.REQUEST_ID, requestId);
    Exchange unmatched = new Exchange(request, requestId, List.of());
    try {
      String path = request.path();
      Routes.Match match = routes.match(request.method(), path == null ? "" : path);
      Exchange exchange =
          new Exchange(request, requestId, match.parameters().stream().map(Percent::decode).toList());
      onAnswer(exchange, match.route().operation(), connections);
      handle(exchange, match.route(), connections);
    } catch (ProblemException refused) {
      onAnswer(unmatched, "none", connections);
      unmatched.answer(refused.problem());
    }
  }

  private void onAnswer(Exchange exchange, String operation, Connections connections) {
    long began = MonotonicClock.SYSTEM.nanos();
    RequestStats.RouteStats stats = shared.stats().of(operation);
    exchange.response().endHandler(end -> {
      long took = MonotonicClock.SYSTEM.nanos() - began;
      connections.answered(exchange.request().connection());
      stats.record(exchange.response().getStatusCode(), took);
      AccessLog.answered(exchange.request(), exchange.requestId(), exchange.subject(), took);
    });
  }

  private void handle(Exchange exchange, Route route, Connections connections) {
    HttpServerRequest request = exchange.request();
    BodyReader.read(request, route, () -> admit(exchange, route))
        .compose(
            body -> {
              connections.received(request.connection());
              return route.handler().handle(exchange, body);
            })
        .onFailure(failure -> fail(exchange, failure));
  }

  private void admit(Exchange exchange, Route route) {
    exchange.admit(
        route.access(),
        shared
            .authentication()
            .callerOf(exchange.header(HttpHeaders.AUTHORIZATION), exchange.request().sslSession()));
  }

  static void fail(Exchange exchange, Throwable failure) {
    exchange.answer(
        switch (failure) {
          case ProblemException problem -> problem.problem();
          case InvalidEnvelopeException invalid -> Problem.badRequest(String.valueOf(invalid.getMessage()));
          case StoreException unavailable ->
            Problem.unavailable(
                "store-unavailable", "The store cannot answer now", String.valueOf(unavailable.getMessage()));
          case HttpClosedException gone -> {
            LOG.log(
                System.Logger.Level.DEBUG, "Request {0}: its client went away before it was complete",
                exchange.requestId());
            yield Problem.badRequest("The connection was closed before the request was complete");
          }
          default -> {
            LOG.log(
                System.Logger.Level.ERROR,
                "Request " + exchange.requestId() + " (" + exchange.request().method() + " "
                    + shown(String.valueOf(exchange.request().path())) + ") failed by a fault of the service",
                failure);
            yield Problem.internal(exchange.requestId());
          }
        });
  }

  /** What HTTP itself does not allow. */
  private void refuse(HttpServerRequest request) {
    Throwable cause = request.decoderResult().cause();
    Problem problem =
        switch (cause) {
          case TooLongHttpLineException line ->
            Problem
                .headersTooLarge("The request line has more than " + MAX_REQUEST_LINE + " bytes; ask for fewer names");
          case TooLongHttpHeaderException header ->
            Problem.headersTooLarge("The headers have more than " + MAX_HEADERS + " bytes; shorten summary and labels");
          case null, default ->
            Problem.badRequest(
                "The request is not HTTP/1.1: " + (cause == null ? "" : shown(String.valueOf(cause.getMessage()))));
        };
    new Exchange(request, shared.requestId(null), List.of()).answer(problem, null);
    Future<Void> _ = request.connection().close();
  }

  static Problem shuttingDown() {
    return Problem.unavailable(
        "shutting-down", "The service is shutting down",
        "The service is shutting down; use another URL, or retry later");
  }
}
